"""The reference: the one truth for the exercises' code."""
