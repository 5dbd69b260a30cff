"""Causal grouped-query attention. Given: there is nothing to write here (M6 §4, §10)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


class CausalGQA(nn.Module):
    """Bias-free attention in which every G = N // K query heads share a key/value head; no positional encoding.

    A token sees itself and the tokens before it. Weights: 2·D·N·H for queries and output, 2·D·K·H for keys and values.
    """

    def __init__(self, cfg: ModelConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.w_q = nn.Linear(cfg.D, cfg.N * cfg.H, bias=False)
        self.w_k = nn.Linear(cfg.D, cfg.K * cfg.H, bias=False)
        self.w_v = nn.Linear(cfg.D, cfg.K * cfg.H, bias=False)
        self.w_o = nn.Linear(cfg.N * cfg.H, cfg.D, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., S, D] → [..., S, D]."""
        q = self._heads(self.w_q(x), self.cfg.N)
        k = self._heads(self.w_k(x), self.cfg.K).repeat_interleave(self.cfg.G, dim=-3)
        v = self._heads(self.w_v(x), self.cfg.K).repeat_interleave(self.cfg.G, dim=-3)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        output: Tensor = self.w_o(mixed.transpose(-3, -2).flatten(-2))
        return output

    def _heads(self, projected: Tensor, heads: int) -> Tensor:
        """projected: [..., S, heads·H] → [..., heads, S, H]."""
        return projected.reshape(*projected.shape[:-1], heads, self.cfg.H).transpose(-3, -2)
