"""Where metrics go besides ``metrics.jsonl``: TensorBoard, Weights & Biases, trackio."""
