"""What starts other commands: the launcher of a training, and the pipeline of several."""
