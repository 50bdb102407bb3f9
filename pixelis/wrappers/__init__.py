"""Gymnasium wrappers: they put the terms of `pixelis.rewards` on any environment and know none by name."""
