"""The DirectML operator specification as data and rules: what a descriptor may be, and what it means."""
