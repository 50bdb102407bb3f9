"""Web browsing: one task, two browsers (in process, and a real Chromium)."""
