"""Playing a run's episodes without the run: env, model, reward terms; here, by helpers, by workers of Ray."""
