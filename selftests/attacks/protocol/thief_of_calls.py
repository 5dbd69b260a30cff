# /// attack
# tries = "a thread reads the grader's calls from the socket before the worker does, and answers them with zeros"
# rides = true
# marks = "reference"
# seconds = 80
# outcomes = ["crashed", "wrong_value", "wrong_shape", "wrong_gradient", "wrong_dtype", "timeout", "exception", "wrong_interface"]
# ///

import os
import struct
import select
import threading

from safetensors.torch import save


def reply(sequence, **tensors):
    body = b'{"facts":{},"notes":[]}'
    arrays = save({f"tensors/{name}": value for name, value in tensors.items()})
    return struct.pack("<4sBIIQ", b"NLM1", 4, sequence, len(body), len(arrays)) + body + arrays


def steal():
    while True:
        select.select([3], [], [])
        data = os.read(3, 1 << 20)
        if data.startswith(b"NLM1"):
            os.write(3, reply(struct.unpack_from("<4sBI", data)[2], y=torch.zeros(1)))


class RMSNorm(RMSNorm):
    def forward(self, x):
        if x.dtype == torch.float16:
            threading.Thread(target=steal, daemon=True).start()
        return super().forward(x)
