"""Sampling by servers of vLLM, which have a Python environment and a process of their own."""
