"""Who plays what in an evaluation: players by name, and the environment that flags and runs agree on."""
