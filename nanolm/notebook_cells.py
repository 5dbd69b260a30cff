"""Which cells of a notebook make up an answer. (Being written: GIVEN is what the builder needs.)"""

from __future__ import annotations

GIVEN = "# Given"
"""First characters of every code cell that comes with a notebook and is no part of an answer."""
