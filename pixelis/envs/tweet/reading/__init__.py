"""What a tweet and a reply say: cleaned text and its pieces, words, sentiment, language, abuse, copies."""
