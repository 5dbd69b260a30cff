# /// attack
# tries = "recurses in C until the stack is gone"
# rides = true
# marks = "reference"
# outcomes = ["crashed", "timeout", "exception", "out_of_memory"]
# ///

import sys

sys.setrecursionlimit(10**9)


class RMSNorm(RMSNorm):
    def forward(self, x):
        pile = []
        for _ in range(300_000 if x.dtype == torch.float16 else 0):
            pile = [pile]
        repr(pile)
        return super().forward(x)
