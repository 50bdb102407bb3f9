"""Whether a candidate solves a problem: hidden tests in the caller's hands, the candidate in the sandbox."""
