# /// attack
# tries = "sends frames for every sequence number that could be meant, those of calls never asked among them"
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


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = torch.zeros(x.shape, dtype=x.dtype)
        os.write(3, b"".join(reply(n, y=y) for n in (2**32 - 1, 0, *range(60))))
        return x
