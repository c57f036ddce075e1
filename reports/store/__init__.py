"""The results file: written as the stream comes, read back, and gone on with after an interruption."""
