"""Files of rows that become tasks, and scenes that were stored: every mistake is told with its line."""
