"""What a run looks like: certificate, tests for CI servers, tables, and what a terminal shows."""
