"""Recognise handwritten digits with a small neural network in NumPy."""
