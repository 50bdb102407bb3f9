"""Run folders, read while they are written: nothing is written, and nothing outside is opened."""
