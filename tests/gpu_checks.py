"""The questions of every GPU test: precise, differentiable, one graph, right under autocast, on its device, unwaited.

A fault that PyTorch's own words explain is named; anything else is judged as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from nanolm import checks
from nanolm.checks import CheckFailure
from nanolm.fixtures.calls import part
from nanolm.fixtures.gpu import Gpu
from nanolm.gpu.faults import HOST_SYNC, slug_of
from nanolm.judge import fault_words
from nanolm.protocol import Outcome, Reply, StudentFault
from nanolm.texts import text
from tests import tolerances
from tests.gpu_subjects import BFLOAT16, FLOAT16, FLOAT32, PRECISIONS, TOKENS, Arguments, Precision, Subject

LENGTHS = (1, 5, 96)
"""Numbers of tokens that a graph is compiled for: code that branches on a shape takes another way in one of them."""


@contextmanager
def _explained(exercise: str, *, but: str = "") -> Iterator[None]:
    """Name the mistake behind a fault of the device; where it is the one `but`, it is another test's."""
    try:
        yield
    except StudentFault as fault:
        slug = slug_of(fault)
        if slug is None:
            raise
        if slug == but:
            return
        headline = text("checks", f"gpu_{slug.replace('-', '_')}")
        implies = f"{exercise}-{slug}"
        raise CheckFailure(Outcome.EXCEPTION, f"{headline}\n{fault_words(fault)}", implies=implies) from fault


def _call(gpu: Gpu, subject: Subject, arguments: Arguments, upstream: torch.Tensor | None = None) -> Reply:
    pulled = None if upstream is None else {"y": upstream}
    return gpu.implementation.call(subject.entry, arguments.tensors, arguments.scalars, upstream=pulled)


def _compare(subject: Subject, y: torch.Tensor, arguments: Arguments, precision: Precision, how: str) -> None:
    of = f"{subject.of}({precision.name} arguments{how})"
    checks.dtype(y, precision.dtype, of=of)
    expected = subject.expected(arguments.exact())
    if precision.half and subject.rounded_once:
        checks.within_ulps(y, expected, bits=precision.bits, ulps=tolerances.HALF_ULPS, of=of)
    else:
        checks.close(y, expected, **subject.tolerance(precision)._asdict(), of=of)


def precise(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """In bfloat16, float16, float32 and float32 with TF32, the result is as exact as the dtype allows."""
    for subject in subjects:
        for precision in PRECISIONS:
            arguments = subject.draw(rng, precision.dtype, TOKENS)
            with _explained(exercise), gpu.under(tf32=precision.tf32):
                y = part(_call(gpu, subject, arguments).tensors, "y")
            _compare(subject, y, arguments, precision, "")


def differentiable(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """Gradients in float32 and bfloat16."""
    for subject in subjects:
        for precision in (FLOAT32, BFLOAT16):
            arguments = subject.draw(rng, precision.dtype, TOKENS)
            with _explained(exercise):
                _compare_gradients(gpu, subject, arguments, precision, rng, "")


def _compare_gradients(
    gpu: Gpu, subject: Subject, arguments: Arguments, precision: Precision, rng: np.random.Generator, how: str
) -> None:
    known = arguments.exact()
    upstream = torch.tensor(rng.standard_normal(subject.expected(known).shape)).to(precision.dtype)
    found = _call(gpu, subject, arguments, upstream).gradients
    tolerance = subject.pulled_tolerance(precision)
    for name, expected in subject.pulled(known, upstream.double().numpy()).items():
        # A sum over all tokens is as large as its longest vector.
        size = max(1.0, float(np.abs(expected).max())) if precision.half else max(1.0, float(np.abs(expected).mean()))
        bounds = {"rtol": tolerance.rtol, "atol": tolerance.atol * size}
        checks.gradient(found, name, expected, **bounds, of=f"{subject.of}({precision.name} arguments{how})")


def one_graph(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """torch.compile takes the code as one graph, whatever the shape, and the graph is as right as the code."""
    for subject in subjects:
        for tokens, precision in zip(LENGTHS, (FLOAT32, FLOAT32, BFLOAT16), strict=True):
            arguments = subject.draw(rng, precision.dtype, tokens)
            with _explained(exercise):
                _call(gpu, subject, arguments)  # a fault that is there uncompiled too is no graph's
            with _explained(exercise), gpu.under(compiled=True):
                if tokens == LENGTHS[1]:
                    _compare_gradients(gpu, subject, arguments, precision, rng, ", compiled")
                    continue
                y = part(_call(gpu, subject, arguments).tensors, "y")
            _compare(subject, y, arguments, precision, ", compiled")


def under_autocast(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """In an autocast region the output is of the input's dtype, half precision, and as right as elsewhere.

    Linear maps keep float32 parameters. Where no cast back is asked for, an operator that autocast runs in float32 may
    leave its result in that dtype. A mistake is named only where the same call without autocast is right.
    """
    for subject in subjects:
        for precision in (BFLOAT16, FLOAT16):
            plain = subject.draw(rng, precision.dtype, TOKENS)
            tensors = {n: t.float() if n in subject.parameters else t for n, t in plain.tensors.items()}
            arguments = Arguments(tensors, plain.scalars)
            of = f"{subject.of}(…) under autocast to {precision.name}"
            with _explained(exercise), gpu.under(autocast=precision.name):
                y = part(_call(gpu, subject, arguments).tensors, "y")
            tolerance = subject.tolerance(precision)._asdict()
            expected = subject.expected(arguments.exact())
            kept = y.dtype == precision.dtype
            loose = y.dtype == torch.float32 and not (subject.rounded_once or subject.parameters)
            close = checks.is_close(y, expected, **tolerance)
            elsewhere = (kept or loose) and close
            if not elsewhere:  # is it wrong in an autocast region only?
                with _explained(exercise):
                    there = part(_call(gpu, subject, plain).tensors, "y")
                elsewhere = there.dtype == precision.dtype and checks.is_close(there, expected, **tolerance)
            if not loose:
                checks.dtype(y, precision.dtype, of=of, implies=(subject.promotion or None) if elsewhere else None)
            checks.close(y, expected, **tolerance, of=of, implies=(subject.narrowing or None) if elsewhere else None)


def on_its_device(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """Every tensor that the code makes lies where its input lies."""
    for subject in subjects:
        with _explained(exercise, but=HOST_SYNC), _followed(gpu):
            _call(gpu, subject, subject.draw(rng, torch.float32, TOKENS))


def never_waiting(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """The host hands out work and never waits for a result."""
    for subject in subjects:
        with _explained(exercise), _followed(gpu):
            _call(gpu, subject, subject.draw(rng, torch.float32, TOKENS))


@contextmanager
def _followed(gpu: Gpu) -> Iterator[None]:
    """Watched calls. A dry run cannot follow all code; what ends it for another reason than the device says nothing."""
    try:
        with gpu.under(watched=True):
            yield
    except StudentFault as fault:
        if gpu.device == "cpu" and fault.outcome is Outcome.EXCEPTION and slug_of(fault) is None:
            pytest.skip(text("checks", "gpu_not_followed"))
        raise
