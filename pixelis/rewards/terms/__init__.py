"""What a reward term is, the shipped ones but curiosity, and their names."""
