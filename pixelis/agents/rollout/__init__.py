"""Sampling with a policy: batched decoding turn by turn, and the collector that plays groups of episodes."""
