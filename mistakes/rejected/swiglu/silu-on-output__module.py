"""Uses one SiLU module twice, on the gate and on the output.

Why people make it: act is at hand, every map before had one, and the last line is written like the others.
"""

from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.act = nn.SiLU()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.act(self.w_gate(x))
        h = h * self.w_up(x)
        return self.act(self.w_down(h))
