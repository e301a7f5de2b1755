"""Softmax rows of tied scores with square loss, for any number of tokens."""
