"""Own rows, each a prompt, and a plain function that says what a reply to it is worth."""
