"""Takes the root of each square and then the mean, so that it averages absolute values.

Why people make it: root, mean and square are all there, and the order in which the name lists them is taken for the
order in which they are computed.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide = x.float()
        roots = torch.sqrt(wide**2 + self.eps)
        normed = wide / roots.mean(-1, keepdim=True)
        return (normed * self.weight).to(x.dtype)
