# /// attack
# tries = "sends a frame of sixty megabytes at half precision, a few bytes at a time"
# rides = true
# outcomes = ["timeout", "passed", "crashed"]
# marks = "reference"
# seconds = 40
# ///

import os
import struct
import time


class RMSNorm(RMSNorm):
    def forward(self, x):
        if x.dtype == torch.float16:
            os.write(3, struct.pack("<4sBIIQ", b"NLM1", 4, 1, 1000, 60 << 20))
            while True:
                os.write(3, b"x")
                time.sleep(0.01)
        return super().forward(x)
