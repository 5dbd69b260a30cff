"""Takes the hypotenuse of the RMS and eps, which squares eps as well.

Why people make it: hypot is the safe way to take a root of two squares, and eps is handed to it as one of the sides.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.d_model = d_model
        self.register_buffer("eps", torch.tensor(eps), persistent=False)
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        rms = torch.linalg.vector_norm(wide, dim=-1, keepdim=True) / self.d_model**0.5
        return (wide / torch.hypot(rms, self.eps.float()) * self.weight).to(x.dtype)
