# /// attack
# tries = "a fault whose JSON is nested a hundred thousand deep, then one with a million keys"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "raising"
# ///

import itertools
import os
import struct
import time

DEEP = b"[" * 100_000 + b"]" * 100_000
WIDE = b"{" + b",".join(b'"%d":0' % n for n in range(80_000)) + b"}"
TURN = itertools.cycle([DEEP, WIDE])


class RMSNorm(RMSNorm):
    def forward(self, x):
        body = next(TURN)
        os.write(3, struct.pack("<4sBIIQ", b"NLM1", 5, 1, len(body), 0) + body)
        time.sleep(3600)
