# /// attack
# tries = "returns a parameter that is not initialised yet, then a coroutine, then a generator"
# rides = true
# marks = "raising"
# outcomes = ["wrong_interface", "exception", "wrong_shape"]
# ///

import itertools

TURN = itertools.count()


class RMSNorm(RMSNorm):
    def forward(self, x):
        async def later():
            return x

        return [nn.UninitializedParameter(), later(), (value for value in x)][next(TURN) % 3]
