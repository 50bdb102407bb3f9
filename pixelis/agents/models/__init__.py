"""Models: finding and loading them, LoRA, chat templates, and the policy that all of it makes."""
