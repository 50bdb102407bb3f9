"""What the reward wrappers of one environment and of a vector share: scoring steps, and the order of wrappers."""
