"""A campaign: its phases and budget, the units it is divided in, and the cases that it searches for."""
