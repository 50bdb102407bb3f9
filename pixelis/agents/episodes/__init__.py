"""Episodes and who plays them: the record that is kept, environments, scripted players, answers, behaviour."""
