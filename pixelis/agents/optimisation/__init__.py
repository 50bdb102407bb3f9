"""How far an update goes: the optimiser, the rate that finds itself, gradient noise, episodes a pass."""
