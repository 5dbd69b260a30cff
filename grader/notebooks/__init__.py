"""Submitted notebooks: read as JSON, never run; rebuilt from the released ones for nbgrader's pages."""
