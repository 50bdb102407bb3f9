"""Any Gymnasium environment, played in words."""
