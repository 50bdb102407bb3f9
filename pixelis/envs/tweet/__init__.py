"""Environments in which a model replies to tweets, their data and the split of data for training."""
