"""GPU tests of `modules.py`: RMSNorm and SwiGLU.

They carry no points, and where there is no accelerator they are `not_run_here`.
"""

from __future__ import annotations

import numpy as np
import pytest

from nanolm.fixtures.gpu import Gpu
from tests import gpu_checks
from tests.gpu_subjects import RMS_NORM, SWIGLU


@pytest.mark.graded("rmsnorm", points=0.0, catches=("low-precision", "late-widening", "wrong-dtype"))
def test_rmsnorm_gpu_precise(gpu: Gpu, rng: np.random.Generator) -> None:
    """As exact as bfloat16, float16, float32 and TF32 allow."""
    gpu_checks.precise(gpu, "rmsnorm", rng, RMS_NORM)


@pytest.mark.graded(
    "rmsnorm",
    points=0.0,
    catches=(
        "detached-statistics",
        "centering",
    ),
)
def test_rmsnorm_gpu_gradients(gpu: Gpu, rng: np.random.Generator) -> None:
    """Gradients in float32 and bfloat16."""
    gpu_checks.differentiable(gpu, "rmsnorm", rng, RMS_NORM)


@pytest.mark.graded("rmsnorm", points=0.0, catches=("graph-break",))
def test_rmsnorm_gpu_one_graph(gpu: Gpu, rng: np.random.Generator) -> None:
    """Compiled as one graph, for several shapes."""
    gpu_checks.one_graph(gpu, "rmsnorm", rng, RMS_NORM)


@pytest.mark.graded("rmsnorm", points=0.0, catches=("float32-constant", "narrowed-statistics"))
def test_rmsnorm_gpu_under_autocast(gpu: Gpu, rng: np.random.Generator) -> None:
    """In an autocast region."""
    gpu_checks.under_autocast(gpu, "rmsnorm", rng, RMS_NORM)


@pytest.mark.graded("rmsnorm", points=0.0, catches=("cpu-tensor",))
def test_rmsnorm_gpu_stays_on_its_device(gpu: Gpu, rng: np.random.Generator) -> None:
    """No tensor of its own lies on the CPU."""
    gpu_checks.on_its_device(gpu, "rmsnorm", rng, RMS_NORM)


@pytest.mark.graded("rmsnorm", points=0.0, catches=("host-sync",))
def test_rmsnorm_gpu_never_waits(gpu: Gpu, rng: np.random.Generator) -> None:
    """The host asks for no value in the middle of it."""
    gpu_checks.never_waiting(gpu, "rmsnorm", rng, RMS_NORM)


@pytest.mark.graded(
    "swiglu",
    points=0.0,
    catches=(
        "gelu-gate",
        "relu-gate",
        "sigmoid-gate",
        "swapped-gate-up",
    ),
)
def test_swiglu_gpu_precise(gpu: Gpu, rng: np.random.Generator) -> None:
    """As exact as bfloat16, float16, float32 and TF32 allow."""
    gpu_checks.precise(gpu, "swiglu", rng, SWIGLU)


@pytest.mark.graded(
    "swiglu",
    points=0.0,
    catches=(
        "gelu-gate",
        "relu-gate",
        "sigmoid-gate",
        "swapped-gate-up",
    ),
)
def test_swiglu_gpu_gradients(gpu: Gpu, rng: np.random.Generator) -> None:
    """Gradients in float32 and bfloat16."""
    gpu_checks.differentiable(gpu, "swiglu", rng, SWIGLU)


@pytest.mark.graded("swiglu", points=0.0, catches=("graph-break",))
def test_swiglu_gpu_one_graph(gpu: Gpu, rng: np.random.Generator) -> None:
    """Compiled as one graph, for several shapes."""
    gpu_checks.one_graph(gpu, "swiglu", rng, SWIGLU)


@pytest.mark.graded("swiglu", points=0.0, catches=("float32-constant",))
def test_swiglu_gpu_under_autocast(gpu: Gpu, rng: np.random.Generator) -> None:
    """In an autocast region."""
    gpu_checks.under_autocast(gpu, "swiglu", rng, SWIGLU)


@pytest.mark.graded("swiglu", points=0.0, catches=("cpu-tensor",))
def test_swiglu_gpu_stays_on_its_device(gpu: Gpu, rng: np.random.Generator) -> None:
    """No tensor of its own lies on the CPU."""
    gpu_checks.on_its_device(gpu, "swiglu", rng, SWIGLU)


@pytest.mark.graded("swiglu", points=0.0, catches=("host-sync",))
def test_swiglu_gpu_never_waits(gpu: Gpu, rng: np.random.Generator) -> None:
    """The host asks for no value in the middle of it."""
    gpu_checks.never_waiting(gpu, "swiglu", rng, SWIGLU)
