"""Terms put together: normalisation, orchestrator, curricula, the path from steps to rewards."""
