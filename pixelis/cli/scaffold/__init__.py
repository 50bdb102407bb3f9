"""Packages that people write for Pixelis, begun for them."""
