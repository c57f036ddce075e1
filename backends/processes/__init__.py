"""Running what is tested in processes of its own, so that the harness survives it."""
