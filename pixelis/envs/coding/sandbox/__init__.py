"""Coding problems: the sandbox candidates run in, the problems, and how outputs are compared."""
