"""Late policies: what is read, what lateness costs, and that no policy gives or takes what it must not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.late import DAY, Deadline, LatePolicy, LatePolicyError, hundredths, parse_time, seconds_late

HOUR = 3600.0


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("none", LatePolicy()),
        ("10% per day", LatePolicy(10)),
        ("10 %  per DAY , floor 40%,grace 2 hours", LatePolicy(10, 40, 2 * HOUR)),
        ("12.5% of the score per day, grace 1 hour", LatePolicy(12.5, 0, HOUR, of_score=True)),
        ("grace 30 minutes, 5% of the maximum per day", LatePolicy(5, 0, 1800)),
        ("grace 1 day, 100% per day", LatePolicy(100, 0, DAY)),
    ],
)
def test_a_policy_is_read_as_it_is_spoken(text: str, policy: LatePolicy) -> None:
    assert LatePolicy.parse(text) == policy
    assert LatePolicy.parse(str(policy)) == policy


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no part of a late policy"),
        ("ten percent a day", "no part of a late policy"),
        ("-10% per day", "no part of a late policy"),
        ("10% per day, 20% per day", "said twice"),
        ("grace 2 hours", "does not say what a day costs"),
        ("none, 10% per day", "no part of a late policy"),
        ("110% per day", "above 100"),
        ("10% per day, floor 400%", "above 100"),
    ],
)
def test_a_policy_that_is_not_understood_says_what_to_write(text: str, says: str) -> None:
    with pytest.raises(LatePolicyError, match=says):
        LatePolicy.parse(text)


@pytest.mark.parametrize(
    ("policy", "late", "left"),
    [
        ("none", 30 * DAY, 80),
        ("10% per day", 0, 80),
        ("10% per day", 1, 70),
        ("10% per day", DAY, 70),
        ("10% per day", DAY + 1, 60),
        ("10% per day", 50 * DAY, 0),
        ("10% of the score per day", DAY, 72),
        ("10% of the score per day", 2 * DAY, 64),
        ("10% per day, grace 2 hours", 2 * HOUR, 80),
        ("10% per day, grace 2 hours", 2 * HOUR + 1, 70),
        ("10% per day, grace 2 hours", DAY + 1, 60),
        ("10% per day, floor 65%", DAY, 70),
        ("10% per day, floor 65%", 2 * DAY, 65),
        ("10% per day, floor 90%", 2 * DAY, 80),
        ("10% of the score per day, floor 50%", 9 * DAY, 40),
        ("10% per day", -5, 80),
    ],
)
def test_what_lateness_costs(policy: str, late: float, left: float) -> None:
    assert LatePolicy.parse(policy).after(80, 100, late) == left
    assert 80 - LatePolicy.parse(policy).penalty(80, 100, late) == pytest.approx(left)


@settings(max_examples=200, deadline=None)
@given(
    st.builds(LatePolicy, st.floats(0, 100), st.floats(0, 100), st.floats(0, 1e6), st.booleans()),
    st.floats(0, 100),
    st.floats(-1e6, 1e9),
    st.floats(0, 1e6),
)
def test_no_policy_gives_a_point_or_takes_one_that_was_not_earned(
    policy: LatePolicy, score: float, late: float, more: float
) -> None:
    assert 0 <= policy.penalty(score, 100, late) <= score
    assert 0 <= policy.after(score, 100, late) <= score
    assert policy.after(score, 100, late + more) <= policy.after(score, 100, late)
    floor = policy.floor_percent / 100 * (score if policy.of_score else 100)
    assert policy.after(score, 100, late) >= min(score, floor) - 0.006


def test_points_are_rounded_as_on_paper() -> None:
    assert [hundredths(x) for x in (1.005, 2.675, 71.5, 1e-12, 0.125)] == [1.01, 2.68, 71.5, 0.0, 0.13]


def test_a_time_says_its_zone() -> None:
    moscow = parse_time("2026-12-01T23:59+03:00")
    assert moscow == datetime(2026, 12, 1, 20, 59, tzinfo=UTC)
    assert parse_time(" 2018-07-01T14:22:32.365935-07:00 ").tzinfo is not None
    assert parse_time("2026-12-01T20:59Z") == moscow
    with pytest.raises(LatePolicyError, match="does not say its time zone"):
        parse_time("2026-12-01T23:59")
    with pytest.raises(LatePolicyError, match="is not a time"):
        parse_time("1st of December")


def test_an_extension_moves_the_deadline() -> None:
    due = datetime(2026, 12, 1, tzinfo=UTC)
    after = due + timedelta(hours=30)
    assert seconds_late(after, due) == 30 * HOUR
    assert seconds_late(after, due, 29) == HOUR
    assert seconds_late(after, due, 48) == 0
    deadline = Deadline(LatePolicy(10), due, {"anna": after, "boris": after}, {"anna": 48.0})
    assert [deadline.lateness(name) for name in ("anna", "boris", "chen")] == [0, 30 * HOUR, None]
