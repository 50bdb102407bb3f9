"""Episodes and who plays them: the record, environments, scripted players, answers, behaviour."""
