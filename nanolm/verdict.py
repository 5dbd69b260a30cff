"""A verdict: how one test ended, with points, message and evidence. Plain data, from a run to every report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from nanolm.protocol import Outcome

Evidence = Literal["output", "property"]


@dataclass(frozen=True)
class NamedMistake:
    """A mistake and what speaks for it: equal numbers (`output`) or a failure only it explains (`property`).

    `share` is the part of the observations that differ from a right answer which this mistake accounts for.
    """

    id: str
    evidence: Evidence
    message: str
    share: float = 1.0


@dataclass(frozen=True)
class Verdict:
    """One test's result; `test` is `tests/test_modules.py::test_rmsnorm_does_not_center`."""

    test: str
    exercise: str
    outcome: Outcome
    score: float
    max_score: float
    message: str = ""
    mistakes: tuple[NamedMistake, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    closeness: float | None = None
    catches: tuple[str, ...] = field(default=())
    repeats: bool = False
    """An earlier test of this run ended in the very same fault and told it."""

    def to_data(self) -> dict[str, Any]:
        """JSON-able form (it crosses between pytest-xdist's processes)."""
        return asdict(self) | {"outcome": self.outcome.value}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Verdict:
        """The inverse of `to_data`."""
        values = dict(data)
        values["outcome"] = Outcome(values["outcome"])
        values["mistakes"] = tuple(NamedMistake(**mistake) for mistake in values["mistakes"])
        values["notes"] = tuple(values["notes"])
        values["catches"] = tuple(values["catches"])
        return cls(**values)


@dataclass(frozen=True)
class Learned:
    """What an exercise's earlier tests have shown, as far as a later one's words depend on it."""

    named: tuple[NamedMistake, ...] | None = None
    """The mistakes that its probes show; None before they were run."""
    first_wrong: str = ""
    """The first test that saw wrong values."""
