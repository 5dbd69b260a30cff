# /// attack
# tries = "a thread answers the next call before it is asked"
# rides = true
# outcomes = ["crashed", "passed", "wrong_value", "wrong_shape", "wrong_dtype", "wrong_gradient"]
# marks = "reference"
# ///

import os
import struct
import threading
import time

from safetensors.torch import save


def reply(sequence, **tensors):
    body = b'{"facts":{},"notes":[]}'
    arrays = save({f"tensors/{name}": value for name, value in tensors.items()})
    return struct.pack("<4sBIIQ", b"NLM1", 4, sequence, len(body), len(arrays)) + body + arrays


COUNT = [0]


class RMSNorm(RMSNorm):
    def forward(self, x):
        COUNT[0] += 1
        early = reply(COUNT[0] + 1, y=torch.zeros(x.shape, dtype=x.dtype))

        def later():
            time.sleep(0.001)
            os.write(3, early)

        threading.Thread(target=later).start()
        return super().forward(x)
