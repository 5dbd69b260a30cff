"""GPU tests of `gpt_oss.py`: the clamped SwiGLU.

They carry no points, and where there is no accelerator they are `not_run_here`.
"""

from __future__ import annotations

import numpy as np
import pytest

from nanolm.fixtures.gpu import Gpu
from tests import gpu_checks
from tests.gpu_subjects import CLAMPED


@pytest.mark.graded(
    "gpt_oss",
    points=0.0,
    catches=(
        "contiguous-halves",
        "symmetric-gate-clamp",
        "missing-plus-one",
        "wrong-dtype",
    ),
)
def test_gpt_oss_gpu_precise(gpu: Gpu, rng: np.random.Generator) -> None:
    """As exact as bfloat16, float16, float32 and TF32 allow."""
    gpu_checks.precise(gpu, "gpt_oss", rng, CLAMPED)


@pytest.mark.graded(
    "gpt_oss",
    points=0.0,
    catches=(
        "detached-sigmoid",
        "straight-through-clamp",
        "contiguous-halves",
    ),
)
def test_gpt_oss_gpu_gradients(gpu: Gpu, rng: np.random.Generator) -> None:
    """Gradients in float32 and bfloat16."""
    gpu_checks.differentiable(gpu, "gpt_oss", rng, CLAMPED)


@pytest.mark.graded("gpt_oss", points=0.0, catches=("graph-break",))
def test_gpt_oss_gpu_one_graph(gpu: Gpu, rng: np.random.Generator) -> None:
    """Compiled as one graph, for several shapes."""
    gpu_checks.one_graph(gpu, "gpt_oss", rng, CLAMPED)


@pytest.mark.graded(
    "gpt_oss",
    points=0.0,
    catches=(
        "contiguous-halves",
        "missing-plus-one",
    ),
)
def test_gpt_oss_gpu_under_autocast(gpu: Gpu, rng: np.random.Generator) -> None:
    """In an autocast region."""
    gpu_checks.under_autocast(gpu, "gpt_oss", rng, CLAMPED)


@pytest.mark.graded("gpt_oss", points=0.0, catches=("cpu-tensor",))
def test_gpt_oss_gpu_stays_on_its_device(gpu: Gpu, rng: np.random.Generator) -> None:
    """No tensor of its own lies on the CPU."""
    gpu_checks.on_its_device(gpu, "gpt_oss", rng, CLAMPED)


@pytest.mark.graded("gpt_oss", points=0.0, catches=("host-sync",))
def test_gpt_oss_gpu_never_waits(gpu: Gpu, rng: np.random.Generator) -> None:
    """The host asks for no value in the middle of it."""
    gpu_checks.never_waiting(gpu, "gpt_oss", rng, CLAMPED)
