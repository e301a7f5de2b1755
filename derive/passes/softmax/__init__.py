"""Softmax rows of tied scores with square loss, at any number of tokens."""
