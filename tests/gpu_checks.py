"""The questions of every GPU test: precise, differentiable, one graph, right under autocast, on its device, unwaited.

A fault that PyTorch's own words explain is named; anything else is judged as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
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
            with _explained(exercise), gpu.under(compiled=True):
                if tokens == LENGTHS[1]:
                    _compare_gradients(gpu, subject, arguments, precision, rng, ", compiled")
                    continue
                y = part(_call(gpu, subject, arguments).tensors, "y")
            _compare(subject, y, arguments, precision, ", compiled")


def under_autocast(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """In an autocast region the output is of the region's dtype.

    Linear maps are given float32 and narrow it; everything else is given half precision. Where no cast back is asked
    for, an operator that autocast runs in float32 may also leave its result in that dtype.
    """
    for subject in subjects:
        for precision in (BFLOAT16, FLOAT16):
            given = torch.float32 if subject.keeps_parameters else precision.dtype
            arguments = subject.draw(rng, given, TOKENS)
            of = f"{subject.of}(…) under autocast to {precision.name}"
            with _explained(exercise), gpu.under(autocast=precision.name):
                y = part(_call(gpu, subject, arguments).tensors, "y")
            strict = subject.rounded_once or subject.keeps_parameters
            if strict or y.dtype != torch.float32:
                promoted = f"{exercise}-float32-constant" if strict and y.dtype == torch.float32 else None
                checks.dtype(y, precision.dtype, of=of, implies=promoted)
            checks.close(y, subject.expected(arguments.exact()), **subject.tolerance(precision)._asdict(), of=of)


def on_its_device(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """Every tensor that the code makes lies where its input lies."""
    for subject in subjects:
        with _explained(exercise, but=HOST_SYNC), gpu.under(watched=True):
            _call(gpu, subject, subject.draw(rng, torch.float32, TOKENS))


def never_waiting(gpu: Gpu, exercise: str, rng: np.random.Generator, *subjects: Subject) -> None:
    """The host hands out work and never waits for a result."""
    for subject in subjects:
        with _explained(exercise), gpu.under(watched=True):
            _call(gpu, subject, subject.draw(rng, torch.float32, TOKENS))
