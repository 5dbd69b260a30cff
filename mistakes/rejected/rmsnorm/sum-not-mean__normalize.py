"""Makes each token a unit vector with F.normalize: its length becomes 1, not its RMS; eps is left to that function.

Why people make it: "normalize" is the word of the exercise and the name of a function.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        unit = F.normalize(x.float(), dim=-1)
        return unit.to(x.dtype) * self.gamma
