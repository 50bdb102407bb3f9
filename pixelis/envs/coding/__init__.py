"""Coding problems: what is asked, what counts as an equal answer, and the sandbox that candidates run in."""
