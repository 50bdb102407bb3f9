"""Workers of Ray that play the episodes of a training, on this machine or on others."""
