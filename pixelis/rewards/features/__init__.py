"""States as vectors of 768 numbers: from pictures, texts and plain numbers."""
