"""Hostile and honest programs for the sandbox, and the command that runs them on this machine."""
