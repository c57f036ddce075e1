"""What a run or several look like in a browser: one page that needs no network."""
