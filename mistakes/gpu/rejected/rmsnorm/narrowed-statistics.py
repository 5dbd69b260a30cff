"""Takes the mean square as a product of the widened row with itself by `torch.matmul`.

Why people make it: a dot product is one call and the row is float32 already; an autocast region narrows the operands of
every matrix product again, float32 or not, and 300² does not fit into float16.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        energy = torch.matmul(h.unsqueeze(-2), h.unsqueeze(-1)).squeeze(-1)
        return (h * torch.rsqrt(energy / self.d_model + self.eps) * self.gamma).to(x.dtype)
