"""What an experiment found: tables, the course's numbers beside the ones obtained, and curves for its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of text under column heads; numbers are already formatted."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True)
class Number:
    """A number that the course prints, and what this implementation gives; `within` is half of its last digit."""

    name: str
    value: float
    course: float
    within: float

    @property
    def agrees(self) -> bool:
        """Whether both are the same to the digits that the course prints; a NaN never is."""
        return abs(self.value - self.course) <= self.within


@dataclass(frozen=True)
class Claim:
    """A statement of the course about this experiment, and whether it holds here."""

    statement: str
    holds: bool


@dataclass(frozen=True)
class Panel:
    """One pair of axes: curves by their label, each a sequence of x and one of y."""

    title: str
    x_label: str
    y_label: str
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    log_x: bool = False
    log_y: bool = False
    marked: bool = False
    """Whether the points themselves are shown: few measured values, not a smooth curve."""
    equal: bool = False
    """Whether one unit is as long on both axes, so that a circle is round."""


@dataclass(frozen=True)
class Bars:
    """One pair of axes with a bar for each label."""

    title: str
    y_label: str
    heights: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Result:
    """All that an experiment has to show."""

    tables: tuple[Table, ...]
    numbers: tuple[Number, ...] = ()
    claims: tuple[Claim, ...] = ()
    panels: tuple[Panel | Bars, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every number is the course's and every claim holds."""
        return all(number.agrees for number in self.numbers) and all(claim.holds for claim in self.claims)
