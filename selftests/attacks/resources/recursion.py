# /// attack
# tries = "recurses in C until the stack is gone"
# rides = true
# marks = "raising"
# outcomes = ["crashed", "exception", "out_of_memory", "passed"]
# ///

import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x"[:0])


class RMSNorm(RMSNorm):
    def forward(self, x):
        pile = []
        for _ in range(10**6):
            pile = [pile]
        return repr(pile)
