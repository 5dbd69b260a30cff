"""`einops.einsum` with named axes."""

import torch.nn.functional as F
from einops import einsum
from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = einsum(x, self.w_gate.weight, "... d_model, d_ff d_model -> ... d_ff")
        up = einsum(x, self.w_up.weight, "... d_model, d_ff d_model -> ... d_ff")
        hidden = F.silu(gate) * up
        return einsum(hidden, self.w_down.weight, "... d_ff, d_model d_ff -> ... d_model")
