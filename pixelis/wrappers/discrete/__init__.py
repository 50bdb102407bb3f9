"""Parts of ``DiscreteToolActions``: numbers to assistant turns, and what the tools said to numbers."""
