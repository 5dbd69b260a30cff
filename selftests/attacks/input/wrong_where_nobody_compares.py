# /// attack
# tries = "right with a gradient asked for, wrong without, and the other way round at every other call"
# rides = true
# marks = 10
# outcomes = ["passed", "exception", "wrong_value", "wrong_gradient"]
# ///

import itertools

TURN = itertools.count()


class RMSNorm(RMSNorm):
    def forward(self, x):
        return super().forward(x) if x.requires_grad != bool(next(TURN) % 2) else x
