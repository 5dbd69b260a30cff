# /// attack
# tries = "announces a frame of sixteen exabytes and never sends it"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "raising"
# ///

import os
import struct
import time


class RMSNorm(RMSNorm):
    def forward(self, x):
        os.write(3, struct.pack("<4sBIIQ", b"NLM1", 4, 1, 2**32 - 1, 2**64 - 1))
        time.sleep(3600)
