"""How much of one submission's notebooks is read: a small zip can hold gigabytes of them."""

from __future__ import annotations

from grader.sourcetext import Unreadable
from grader.trees import size_in_words

MOST_NOTEBOOKS = 100
MOST_BYTES = 1 << 30


class Allowance:
    """What is left of it for one submission. The notebook that exceeds it is the last one to be opened."""

    def __init__(self) -> None:
        self._notebooks = 0
        self._bytes = 0

    def check(self) -> None:
        """Before a notebook is opened. Raises Unreadable where those before it have used all up."""
        self._notebooks += 1
        if self._notebooks > MOST_NOTEBOOKS or self._bytes > MOST_BYTES:
            raise Unreadable(
                f"Not all notebooks were read: one submission may hold {MOST_NOTEBOOKS} of them and "
                f"{size_in_words(MOST_BYTES)} together. Hand in the released ones, outputs cleared."
            )

    def spend(self, size: int) -> None:
        """Note the size of one that was opened."""
        self._bytes += size
