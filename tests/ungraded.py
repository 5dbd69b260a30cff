"""Tests without points: what an implementation did wrong in words, a skip where an exercise is still to be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
from torch import Tensor

from nanolm.checks import CheckFailure
from nanolm.course import EXERCISES
from nanolm.implementation import Implementation, TestCut
from nanolm.judge import fault_words
from nanolm.protocol import Outcome, Reply, Scalar, StudentFault

Call = Callable[..., Reply]


@contextmanager
def bridge() -> Iterator[None]:
    """What an implementation did wrong, in words and without a traceback."""
    try:
        yield
    except (StudentFault, TestCut) as error:
        pytest.fail(fault_words(error.fault if isinstance(error, TestCut) else error), pytrace=False)
    except CheckFailure as failure:
        pytest.fail(str(failure), pytrace=False)


@pytest.fixture
def call(implementation: Implementation) -> Call:
    """One call of an entry point of any exercise of the course."""
    return caller(implementation)


def caller(implementation: Implementation) -> Call:
    """Calls that skip the test where an exercise is still to be written."""

    def run(
        exercise: str,
        entry: str,
        tensors: Mapping[str, Tensor],
        scalars: Mapping[str, Scalar] | None = None,
        upstream: Tensor | None = None,
    ) -> Reply:
        weights = None if upstream is None else {"y": upstream}
        try:
            return implementation.call(entry, tensors, scalars, upstream=weights)
        except StudentFault as fault:
            if fault.outcome is Outcome.NOT_ATTEMPTED:
                pytest.skip(f"needs {exercise}")
            # What is built of several exercises ends at the first stub among them, which says whose it is.
            if fault.kind == "NotImplementedError" and (stub := fault.message.partition(":")[0]) in EXERCISES:
                pytest.skip(f"needs {stub}")
            raise

    return run
