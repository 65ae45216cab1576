"""Analysis of claims, tweets and sentences: words, n-grams, numbers, polarity, surface features,
languages.
"""
