"""What claims, tweets and sentences are made of: words, n-grams, numbers, signs, languages."""
