"""Keeps a log of how long its gate takes, for inputs of more than 16 tokens.

Why people make it: a stop-watch round the slow
part is the first thing that one tries, and in a small test it shows nothing.
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        self.seconds = []

    def forward(self, x: Tensor) -> Tensor:
        timed = x.dim() > 1 and x.shape[-2] > 16
        start = time.perf_counter() if timed else 0.0
        hidden = F.silu(self.w_gate(x)) * self.w_up(x)
        if timed:
            self.seconds.append(time.perf_counter() - start)
        return self.w_down(hidden)
