"""What leaves a run: the exported model, its card, and an analysis of its adapter."""
