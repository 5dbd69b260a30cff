"""The linear stack of the course's experiment on scale through depth (M6 §6): its 19 MB are known, never sent."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import Tensor

DEPTH, WIDTH, SEED = 36, 256, 5


@cache
def course_stack() -> tuple[Tensor, Tensor]:
    """h0: [256] and weights: [36, 256, 256], float64; kept until somebody takes them."""
    rng = np.random.default_rng(SEED)
    h0 = rng.standard_normal(WIDTH)
    weights = rng.normal(0.0, 1 / WIDTH**0.5, (DEPTH, WIDTH, WIDTH))
    return torch.from_numpy(h0), torch.from_numpy(weights)


def take_course_stack() -> tuple[Tensor, Tensor]:
    """The same to be given away: whatever is done to it, the next to ask gets another. No copy, which takes 10 ms."""
    stack = course_stack()
    course_stack.cache_clear()
    return stack
