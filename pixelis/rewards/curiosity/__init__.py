"""Curiosity: the dynamics model with LoRA, its memory and cache, and the reward term it makes."""
