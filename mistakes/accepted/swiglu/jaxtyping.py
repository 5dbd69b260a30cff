"""jaxtyping shapes in the signatures."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        gate: Float[Tensor, "... d_ff"] = F.silu(self.w_gate(x))
        up: Float[Tensor, "... d_ff"] = self.w_up(x)
        return self.w_down(gate * up)
