"""What stored episodes say: how agents behave, where they fail, and whether two differ."""
