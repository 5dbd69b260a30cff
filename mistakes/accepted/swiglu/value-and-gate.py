"""The branches are called value and gate, and the value is written first."""

from torch import Tensor, nn
from torch.nn.functional import silu


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        value: Tensor = self.w_up(x)
        gate: Tensor = silu(self.w_gate(x))
        return self.w_down(value * gate)
