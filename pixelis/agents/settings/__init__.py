"""The settings of training runs: fields with help and allowed values, their checks, and YAML files."""
