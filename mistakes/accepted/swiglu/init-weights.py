"""An `_init_weights` method that draws the weights anew."""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        self._init_weights()

    def _init_weights(self) -> None:
        for linear in (self.w_gate, self.w_up):
            nn.init.normal_(linear.weight, mean=0.0, std=0.02)
        nn.init.xavier_uniform_(self.w_down.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))
