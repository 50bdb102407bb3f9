"""Coding problems: what is asked, what counts as an equal answer, and how a solution is run and verified."""
