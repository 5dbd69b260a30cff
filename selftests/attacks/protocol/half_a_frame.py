# /// attack
# tries = "sends the beginning of a frame at half precision and waits for ever"
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
            os.write(3, struct.pack("<4sBIIQ", b"NLM1", 4, 1, 1000, 1 << 20)[:15])
            time.sleep(3600)
        return super().forward(x)
