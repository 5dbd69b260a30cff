# /// attack
# tries = "returns a nested tensor and a masked one by turns"
# rides = true
# marks = "raising"
# outcomes = ["wrong_interface", "exception", "wrong_shape"]
# ///

import itertools

TURN = itertools.count()


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = super().forward(x)
        if next(TURN) % 2:
            return torch.nested.nested_tensor([y.detach(), y.detach()])
        return torch.masked.masked_tensor(y.detach(), torch.zeros_like(y, dtype=torch.bool))
