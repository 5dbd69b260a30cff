# /// attack
# tries = "raises pytest's Exit, KeyboardInterrupt and SystemExit by turns"
# rides = true
# marks = "raising"
# outcomes = ["exception", "passed"]
# ///

import itertools

import pytest

TURN = itertools.cycle([pytest.exit.Exception("over"), KeyboardInterrupt(), SystemExit(0), GeneratorExit()])


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise next(TURN)
