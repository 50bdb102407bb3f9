"""reasoning-gym: a hundred kinds of questions, one turn each."""
