"""Has a second parameter, a shift that starts at zeros and is added to the output.

Why people make it: LayerNorm has a gain and a shift, and the pair is carried over; at zeros it adds nothing, so the
values agree until the first training step.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (x / rms * self.gamma + self.beta).to(in_dtype)
