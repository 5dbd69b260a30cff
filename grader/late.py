"""What lateness costs: a policy in words that a teaching assistant can read, and pure functions of it.

    none
    10% per day
    10% per day, floor 40%, grace 2 hours
    10% of the score per day, grace 30 minutes

Percentages are of the maximum unless `of the score` is said. A day counts from its first second on. `floor 40%`: the
penalty alone never takes a grade below 40% of the maximum (of the score); a grade that is lower anyway stays as it was
earned. `grace 2 hours` forgives up to two hours; who is later than that pays from the deadline on. An extension moves
the deadline itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Self

DAY = 86400.0
UNITS = {"minute": 60.0, "hour": 3600.0, "day": DAY}

_NUMBER = r"(\d+(?:\.\d+)?)"
_PER_DAY = re.compile(rf"{_NUMBER} ?%( of the score| of the maximum)? per day")
_FLOOR = re.compile(rf"floor {_NUMBER} ?%")
_GRACE = re.compile(rf"grace {_NUMBER} ?(minute|hour|day)s?")

EXAMPLE = "10% per day, floor 40%, grace 2 hours"


class LatePolicyError(ValueError):
    """A policy or a time that cannot be understood; the text says what to write instead."""


@dataclass(frozen=True)
class LatePolicy:
    """What a started day costs, where the cost ends, and what is forgiven. Without arguments: nothing is taken."""

    percent_per_day: float = 0.0
    floor_percent: float = 0.0
    grace_seconds: float = 0.0
    of_score: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a policy as the module's docstring shows it. Raises LatePolicyError."""
        clauses = [" ".join(clause.casefold().split()) for clause in text.split(",")]
        if clauses == ["none"]:
            return cls()
        found: dict[str, float | bool] = {}
        for clause in clauses:
            if per_day := _PER_DAY.fullmatch(clause):
                new: dict[str, float | bool] = {
                    "percent_per_day": float(per_day[1]),
                    "of_score": per_day[2] == " of the score",
                }
            elif floor := _FLOOR.fullmatch(clause):
                new = {"floor_percent": float(floor[1])}
            elif grace := _GRACE.fullmatch(clause):
                new = {"grace_seconds": float(grace[1]) * UNITS[grace[2]]}
            else:
                raise LatePolicyError(f"{clause!r} is no part of a late policy: write `none`, or like `{EXAMPLE}`")
            if found.keys() & new.keys():
                raise LatePolicyError(f"{clause!r} is said twice: write it once, as in `{EXAMPLE}`")
            found |= new
        if "percent_per_day" not in found:
            raise LatePolicyError(f"it does not say what a day costs: write `none`, or like `{EXAMPLE}`")
        if found["percent_per_day"] > 100 or found.get("floor_percent", 0) > 100:
            raise LatePolicyError("a percentage above 100 means nothing here")
        return cls(**found)  # type: ignore[arg-type]

    def __str__(self) -> str:
        """The policy in the words that `parse` reads."""
        if not self.percent_per_day:
            return "none"
        parts = [f"{self.percent_per_day:g}%{' of the score' if self.of_score else ''} per day"]
        if self.floor_percent:
            parts.append(f"floor {self.floor_percent:g}%")
        if self.grace_seconds:
            parts.append(f"grace {self.grace_seconds / 60:g} minutes")
        return ", ".join(parts)

    def penalty(self, score: float, max_score: float, seconds_late: float) -> float:
        """Points to take off: 0 in time, never more than was earned, never so many that a floor is passed."""
        if seconds_late <= max(self.grace_seconds, 0.0) or score <= 0:
            return 0.0
        whole = score if self.of_score else max_score
        days = math.ceil(seconds_late / DAY)
        wanted = days * self.percent_per_day / 100 * whole
        room = max(0.0, score - self.floor_percent / 100 * whole)
        return min(wanted, room, score)

    def after(self, score: float, max_score: float, seconds_late: float) -> float:
        """The score that is left, to the hundredth: never below zero, never above what was earned."""
        left = score - self.penalty(score, max_score, seconds_late)
        return min(score, max(0.0, hundredths(left)))


def hundredths(number: float) -> float:
    """A number of points to two places, halves upwards: what gradebooks keep."""
    return float(Decimal(repr(number)).quantize(Decimal("0.01"), ROUND_HALF_UP))


def parse_time(text: str) -> datetime:
    """A moment in ISO 8601, with its offset from UTC: `2026-12-01T23:59+03:00`. Raises LatePolicyError.

    Without the offset nobody can say which moment is meant, and a guess would cost a student a day.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise LatePolicyError(f"{text[:60]!r} is not a time: write it like 2026-12-01T23:59+03:00") from None
    if moment.tzinfo is None:
        raise LatePolicyError(f"{text[:60]!r} does not say its time zone: write it like 2026-12-01T23:59+03:00")
    return moment


def seconds_late(submitted: datetime, due: datetime, extension_hours: float = 0.0) -> float:
    """Seconds between the deadline, an extension added, and the submission; 0 in time."""
    return max(0.0, (submitted - due).total_seconds() - extension_hours * 3600)


@dataclass(frozen=True)
class Deadline:
    """A policy with its moment, and who has handed in when and has more time. Ids are the roster's."""

    policy: LatePolicy
    due: datetime
    submitted: Mapping[str, datetime]
    extensions: Mapping[str, float]

    def lateness(self, student_id: str) -> float | None:
        """Seconds that a student is late; None where nobody knows when the work came."""
        moment = self.submitted.get(student_id)
        return None if moment is None else seconds_late(moment, self.due, self.extensions.get(student_id, 0.0))
