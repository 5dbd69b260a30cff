"""The GPU job: the same tests on an accelerator, in processes of their own, and their verdicts for the ledger.

It needs PyTorch and NumPy; what else it needs it carries (`grader.gpu.bundle`).
"""
