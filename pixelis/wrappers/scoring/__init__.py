"""What the reward wrappers of one environment and of a vector share: scoring, order, declared traits."""
