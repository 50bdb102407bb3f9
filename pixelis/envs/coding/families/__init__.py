"""The families of coding problems, one small module for each or for two alike."""
