"""Student code on an accelerator: where tensors go, under which conditions code runs, and what its faults are called.

Nothing here is imported before a call leaves the CPU or carries conditions of a GPU test.
"""
