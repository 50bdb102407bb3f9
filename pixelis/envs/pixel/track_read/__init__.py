"""``Pixelis/TrackRead-v0``: follow a car through a video, read its plate."""
