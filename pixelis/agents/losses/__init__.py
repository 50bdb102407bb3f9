"""The maths of the losses as pure functions: advantages, ratios, surrogates, KL, aggregation."""
