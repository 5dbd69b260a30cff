# /// attack
# tries = "returns sparse, compressed and quantised tensors by turns"
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
            return y.to_sparse()
        return torch.quantize_per_tensor(y.detach().float(), 0.1, 0, torch.qint8)
