"""Wrappers of one environment that change its reward."""
