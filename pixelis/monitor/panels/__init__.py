"""What is shown, as plain data: no browser is needed to make it, or to test it."""
