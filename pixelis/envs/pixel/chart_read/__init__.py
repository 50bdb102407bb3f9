"""``Pixelis/ChartRead-v0``: read a value off a chart with tiny labels."""
