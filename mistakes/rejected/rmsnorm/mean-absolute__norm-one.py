"""Takes the 1-norm over D, plus eps, in the place of the RMS.

Why people make it: a norm divided by the number of features sounds like the RMS, and which norm it is gets lost.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide = x.float()
        size = torch.linalg.vector_norm(wide, ord=1, dim=-1, keepdim=True) / self.d_model
        return (wide / (size + self.eps) * self.weight).to(x.dtype)
