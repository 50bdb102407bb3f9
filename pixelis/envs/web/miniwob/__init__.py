"""``Pixelis/MiniWoB-v0``, and scripted solvers of its tasks."""
