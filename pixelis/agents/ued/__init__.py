"""Choosing the levels that are trained on: unsupervised environment design for every environment."""
