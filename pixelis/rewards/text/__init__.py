"""Texts as vectors, and how different texts are from one another."""
