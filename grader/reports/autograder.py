"""What runs in Gradescope's container: one submission is graded and `results.json` written, whatever happens.

`/autograder/source` holds what `grader.reports.gradescope_zip` packed: tests and given files, settings, the round's
key. Nothing of a submission is run outside a worker.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from grader.files import write_text
from grader.grading import grade_paths
from grader.late import LatePolicy, LatePolicyError, parse_time, seconds_late
from grader.reports.gradescope import Visibility, failure, gradescope
from grader.results import SubmissionResult
from grader.session import CannotStart, Settings
from nanolm.course import EXERCISES

HOME = Path("/autograder")
COURSE, SETTINGS, KEY = "course", "settings.json", "key"
"""What lies in the source folder beside the wheel."""

OUR_FAULT = (
    "The autograder failed; nothing is said about your files by that. Tell the course staff, who will see why and run "
    "it again: you need not hand in again."
)


class AutograderSettings(msgspec.Struct, frozen=True):
    """How the zip was made to grade."""

    round: str
    isolation: str
    exercises: list[str]
    late: str = "none"
    visibility: Visibility = "visible"


class When(msgspec.Struct, frozen=True):
    """The dates of an assignment, of everybody or of one student."""

    due_date: str | None = None


class User(msgspec.Struct, frozen=True):
    """A student of a submission; with an extension the dates are the student's own."""

    assignment: When | None = None


class Metadata(msgspec.Struct, frozen=True):
    """`submission_metadata.json`, as far as lateness goes."""

    created_at: str
    assignment: When
    users: list[User] = []


def main(arguments: list[str], home: Path = HOME) -> int:
    """Grade the submission, or with `--check` the untouched exercises; 1 where there is no grade."""
    if arguments == ["--check"]:
        return _check(home)
    try:
        data = graded(home)
    except CannotStart as error:
        print(f"The grader could not start: {error}")
        data = failure(OUR_FAULT)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        data = failure(OUR_FAULT)
    (home / "results").mkdir(exist_ok=True)
    write_text(home / "results" / "results.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    print("graded" if "score" in data else f"no grade: {data['output']}")
    return 0 if "score" in data else 1


def graded(home: Path) -> dict[str, Any]:
    """The content of `results.json`. Raises CannotStart, and whatever else goes wrong on our side."""
    settings = msgspec.json.decode((home / "source" / SETTINGS).read_bytes(), type=AutograderSettings)
    result = _grade(home, home / "submission", settings)
    policy = LatePolicy.parse(settings.late)
    late = 0.0
    if policy != LatePolicy() and not result.ungradable:
        try:
            late = lateness((home / "submission_metadata.json").read_bytes())
        except (OSError, msgspec.DecodeError, LatePolicyError) as error:
            print(f"submission_metadata.json tells no time: {error}")
            note = "When this was handed in could not be read, so nothing was taken off for lateness."
            result = replace(result, notes=(*result.notes, note))
    return gradescope(result, visibility=settings.visibility, policy=policy, seconds_late=late)


def lateness(metadata: bytes) -> float:
    """Seconds late: by the student's own due date where there is one, of a group the latest; without any 0.

    Raises LatePolicyError, and msgspec.DecodeError where it is not Gradescope's metadata.
    """
    told = msgspec.json.decode(metadata, type=Metadata)
    own = [user.assignment.due_date for user in told.users if user.assignment and user.assignment.due_date]
    dates = own or ([told.assignment.due_date] if told.assignment.due_date else [])
    submitted = parse_time(told.created_at)
    return min((seconds_late(submitted, parse_time(date)) for date in dates), default=0.0)


def _grade(home: Path, submission: Path, settings: AutograderSettings) -> SubmissionResult:
    key = bytes.fromhex((home / "source" / KEY).read_text(encoding="ascii").strip())
    exercises = tuple(name for name in EXERCISES if name in settings.exercises)
    how = Settings(home / "source" / COURSE, exercises, settings.round, key, settings.isolation)
    (result,) = grade_paths([submission], how, processes=1)
    return result


def _check(home: Path) -> int:
    """Grade the stubs: does grading start here at all? Where the image is built may be another place: only a word."""
    try:
        settings = msgspec.json.decode((home / "source" / SETTINGS).read_bytes(), type=AutograderSettings)
        with tempfile.TemporaryDirectory() as scratch:
            stubs = Path(scratch) / "stubs"
            shutil.copytree(home / "source" / COURSE / "exercises", stubs)
            result = _grade(home, stubs, settings)
    except Exception as error:
        print(f"!! Where this image is built, grading does not start: {error}")
        print("!! Hand in something with `Test Autograder` to see whether it does where submissions run.")
        return 0
    print(f"Grading starts: the stubs earn {result.score:g} of {result.max_score:g}, isolation {result.isolation}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
