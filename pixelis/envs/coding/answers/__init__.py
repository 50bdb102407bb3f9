"""A candidate's text and values: the code in a turn, and when a value counts as the expected one."""
