"""Stored episodes for the eye: played again for their pictures, as a page, in the terminal, as a film."""
