"""Self-tests of the whole project: they see everything, and no student receives them."""
