"""Terms put together: normalisation, orchestrator, curricula of weights, and the path from steps to rewards."""
