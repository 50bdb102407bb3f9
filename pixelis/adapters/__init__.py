"""Our environments in the trainers of others: one short module for each."""
