"""Episodes that were written down, read back: of runs, of evaluations and of recordings."""
