"""Where an experiment finds the implementation it runs on, and what stops it there."""

from __future__ import annotations

import traceback
from typing import Any

from nanolm.course import EXERCISES
from nanolm.experiments import Experiment
from nanolm.experiments.result import Result
from nanolm.sources import MissingFile, Source, display_name
from nanolm.untrusted import printable


class Unfinished(Exception):
    """The experiment could not run on this implementation; its text says what is needed."""


class Lab:
    """The implementation under an experiment."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def name(self, file: str, name: str) -> Any:
        """A public name of `block.py`; raises Unfinished where the file or the name is missing."""
        try:
            names = self._source.names(file)
        except MissingFile:
            raise Unfinished(
                f"needs {', '.join(_exercises_of(file)) or file}: {display_name(file)} is not there"
            ) from None
        if name not in names:
            raise Unfinished(f"{display_name(file)} defines no {name}. Keep the name that the exercise gives.")
        return names[name]


def run(experiment: Experiment, source: Source) -> Result:
    """Run an experiment; raises Unfinished with one sentence where the implementation is not ready for it."""
    try:
        return experiment.run(Lab(source))
    except NotImplementedError as error:
        exercise = str(error).partition(":")[0]
        if exercise in EXERCISES:
            raise Unfinished(f"needs {exercise} (to do: {printable(str(error).partition(': ')[2])})") from None
        raise _failed(error, experiment) from error
    except Unfinished:
        raise
    except Exception as error:
        raise _failed(error, experiment) from error


def _exercises_of(file: str) -> list[str]:
    return [exercise.id for exercise in EXERCISES.values() if exercise.file == file]


def _failed(error: Exception, experiment: Experiment) -> Unfinished:
    """What student code raised, as one line, with the innermost line of a student's file that it passed through."""
    files = {exercise.file for exercise in EXERCISES.values()}
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        folder, _, file = frame.filename.replace("\\", "/").rpartition("/")
        if file in files and folder.rpartition("/")[2] in ("exercises", "solutions"):
            place = f" in {file}, line {frame.lineno}"
    # Without a line of theirs, it is what they returned that the experiment could not use.
    hint = "" if place else f" (something came back that it cannot use: `nanolm check {' '.join(experiment.needs)}`)"
    return Unfinished(f"{type(error).__name__}{place}: {printable(str(error), 400)}{hint}")
