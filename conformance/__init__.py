"""The judge: comparison, phases, the runner, the command line, the pytest plugin and the suite that others run."""
