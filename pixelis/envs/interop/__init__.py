"""Doors to other packages: their environments here, and ours there."""
