"""What a run leaves on disk: its folder, checkpoints and their state, and finding them again."""
