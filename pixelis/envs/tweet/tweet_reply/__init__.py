"""``Pixelis/TweetReply-v0``: reply to a tweet, once or in a thread."""
