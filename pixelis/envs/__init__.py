"""Environments: a task, a toolset and a verifier each (see ``tool_env``)."""
