"""The course kit: what students get to run the exercises, and what the grader shares with them."""

__version__ = "0.1.0"
