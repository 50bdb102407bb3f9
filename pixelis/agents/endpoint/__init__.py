"""Agents from elsewhere: a model behind an OpenAI-compatible address plays, as ``openai:MODEL@URL``."""
