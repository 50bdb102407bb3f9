"""Reading what the episodes of a group have in common once: their prompt, its keys and values, its pictures.

`attention` is the arithmetic, `packing` lays episodes out for training, `store` keeps keys and values while
decoding, `support` plugs both into transformers' own models and finds out which of them it fits.
"""
