# /// attack
# tries = "replies whose arrays have impossible headers: overlapping, of negative size, a hundred thousand of them"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "raising"
# ///

import itertools
import json
import os
import struct
import time

BODY = b'{"facts":{},"notes":[]}'
ODD = [
    {"tensors/y": {"dtype": "F32", "shape": [2**62, 0], "data_offsets": [0, 0]}},
    {
        "tensors/y": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
    },
    {"tensors/y": {"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}},
    {f"tensors/{n}": {"dtype": "BOOL", "shape": [0], "data_offsets": [0, 0]} for n in range(1000)},
]
TURN = itertools.cycle(ODD)


class RMSNorm(RMSNorm):
    def forward(self, x):
        header = json.dumps(next(TURN)).encode()
        arrays = struct.pack("<Q", len(header)) + header + bytes(4)
        os.write(3, struct.pack("<4sBIIQ", b"NLM1", 4, 1, len(BODY), len(arrays)) + BODY + arrays)
        time.sleep(3600)
