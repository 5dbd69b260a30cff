# /// attack
# tries = "answers its own call with a frame written by hand, and then again with the worker's"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "zeros"
# ///

import os
import struct

from safetensors.torch import save


def reply(sequence, **tensors):
    body = b'{"facts":{},"notes":[]}'
    arrays = save({f"tensors/{name}": value for name, value in tensors.items()})
    return struct.pack("<4sBIIQ", b"NLM1", 4, sequence, len(body), len(arrays)) + body + arrays


COUNT = [0]


class RMSNorm(RMSNorm):
    def forward(self, x):
        COUNT[0] += 1
        os.write(3, reply(COUNT[0], y=torch.zeros(x.shape, dtype=x.dtype)))
        return x
