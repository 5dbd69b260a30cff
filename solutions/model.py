"""A pre-norm Transformer block out of your own parts. Given: there is nothing to write here (M6 §4, W6)."""

from __future__ import annotations

from torch import Tensor, nn

from .attention import CausalGQA
from .block import pre_norm_step
from .config import ModelConfig
from .modules import RMSNorm, SwiGLU


class Block(nn.Module):
    """Attention, then a gated FFN, each behind its own norm and added to the stream.

    It holds as many numbers as `block_params(cfg)` says. It runs once rmsnorm, swiglu and placement are written.
    """

    def __init__(self, cfg: ModelConfig) -> None:
        super().__init__()
        self.norm1 = RMSNorm(cfg.D)
        self.attn = CausalGQA(cfg)
        self.norm2 = RMSNorm(cfg.D)
        self.ffn = SwiGLU(cfg.D, cfg.F)

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., S, D] → [..., S, D]."""
        return pre_norm_step(x, self.attn, self.ffn, self.norm1, self.norm2)
