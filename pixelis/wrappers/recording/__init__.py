"""Recordings of episodes: what a line holds, writing and reading files, replaying, scoring again."""
