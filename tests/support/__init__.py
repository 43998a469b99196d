"""What the public and the hidden suite share: drawing inputs, the oracle, comparisons in words.

It ships to students and holds no answer: expected values come from PyTorch's own attention.
"""
