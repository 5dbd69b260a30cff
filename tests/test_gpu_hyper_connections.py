"""GPU tests of `hyper_connections.py`: Sinkhorn's projection.

They carry no points, and where there is no accelerator they are `not_run_here`.
"""

from __future__ import annotations

import numpy as np
import pytest

from nanolm.fixtures.gpu import Gpu
from tests import gpu_checks
from tests.gpu_subjects import SINKHORN


@pytest.mark.graded("mhc", points=0.0, catches=("low-precision",))
def test_mhc_gpu_precise(gpu: Gpu, rng: np.random.Generator) -> None:
    """As exact as bfloat16, float16, float32 and TF32 allow."""
    gpu_checks.precise(gpu, "mhc", rng, SINKHORN)


@pytest.mark.graded(
    "mhc",
    points=0.0,
    catches=(
        "detached-sinkhorn",
        "rows-first",
    ),
)
def test_mhc_gpu_gradients(gpu: Gpu, rng: np.random.Generator) -> None:
    """Gradients in float32 and bfloat16."""
    gpu_checks.differentiable(gpu, "mhc", rng, SINKHORN)


@pytest.mark.graded("mhc", points=0.0, catches=("graph-break",))
def test_mhc_gpu_one_graph(gpu: Gpu, rng: np.random.Generator) -> None:
    """Compiled as one graph, for several shapes."""
    gpu_checks.one_graph(gpu, "mhc", rng, SINKHORN)


@pytest.mark.graded(
    "mhc",
    points=0.0,
    catches=(
        "columns-only",
        "rows-only",
        "single-iteration",
    ),
)
def test_mhc_gpu_under_autocast(gpu: Gpu, rng: np.random.Generator) -> None:
    """In an autocast region."""
    gpu_checks.under_autocast(gpu, "mhc", rng, SINKHORN)


@pytest.mark.graded("mhc", points=0.0, catches=("cpu-tensor",))
def test_mhc_gpu_stays_on_its_device(gpu: Gpu, rng: np.random.Generator) -> None:
    """No tensor of its own lies on the CPU."""
    gpu_checks.on_its_device(gpu, "mhc", rng, SINKHORN)


@pytest.mark.graded("mhc", points=0.0, catches=("host-sync",))
def test_mhc_gpu_never_waits(gpu: Gpu, rng: np.random.Generator) -> None:
    """The host asks for no value in the middle of it."""
    gpu_checks.never_waiting(gpu, "mhc", rng, SINKHORN)
