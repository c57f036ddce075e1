"""How far from the exact value results are: numbers tried on operators as functions, and the page on it."""
