"""The projections are batched matrix products, which take three-dimensional input and nothing else.

Why people make it: bmm is known as the matmul for batches, and @ with a plain weight is not trusted to
broadcast.
"""

import torch
from torch import Tensor, nn


def _project(x: Tensor, linear: nn.Linear) -> Tensor:
    weight = linear.weight.t().expand(x.size(0), -1, -1)
    return torch.bmm(x, weight)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = _project(x, self.w_gate)
        up = _project(x, self.w_up)
        return _project(gate * torch.sigmoid(gate) * up, self.w_down)
