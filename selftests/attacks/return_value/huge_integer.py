# /// attack
# exercise = "budget"
# tries = "returns integers of thirty million bits, booleans and subclasses of int that equal everything"
# rides = true
# outcomes = ["wrong_value", "wrong_interface", "wrong_error", "passed", "wrong_dtype", "exception"]
# marks = 5
# ///

import itertools

TURN = itertools.count()


class Equal(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def swiglu_ffn_dim(d_model, multiple_of=256):
    return [1 << 30_000_000, True, Equal(7)][next(TURN) % 3]


def ffn_params(d_model, d_ff, *, gated):
    return Equal(7)


attention_params = block_params = model_params = lambda cfg: Equal(7)
