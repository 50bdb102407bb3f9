"""The frame of every run: open, evaluate, train, evaluate again; its metrics and its policy."""
