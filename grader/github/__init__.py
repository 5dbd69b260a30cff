"""Grading from within GitHub's workflows: what the event says, what was handed over, what is written back."""
