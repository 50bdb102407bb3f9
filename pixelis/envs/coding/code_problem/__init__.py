"""``Pixelis/CodeProblem-v0``: write a function that passes hidden tests."""
