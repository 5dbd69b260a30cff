# /// attack
# tries = "exceptions whose str, repr and notes raise, lie about their type, or never end"
# rides = true
# marks = "raising"
# outcomes = ["not_attempted"]
# ///

import itertools


class Evil(Exception):
    def __str__(self):
        raise SystemExit("no text")

    __repr__ = __str__
    __notes__ = property(__str__)


class Liar(Exception):
    __class__ = property(lambda self: NotImplementedError)

    def __str__(self):
        return type("Text", (str,), {"__getitem__": lambda s, i: s, "__len__": lambda s: -1})("rmsnorm: x")


TURN = itertools.cycle([Evil(), Liar(), BaseExceptionGroup("\x1b[2J", [Evil(), Liar()])])


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise next(TURN)
