"""What pixel environments are built on: `PixelEnv`, `VideoEnv`, and the pictures and videos they show."""
