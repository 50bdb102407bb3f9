"""Tweets as data: files, splits without leaks, preferences, and the tweets that come with the package."""
