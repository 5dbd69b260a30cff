# /// attack
# tries = "answers its own call with a frame written by hand, and then again with the worker's"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "zeros"
# ///

import os

from grader.wire import encode_reply
from nanolm.protocol import Reply

COUNT = [0]


class RMSNorm(RMSNorm):
    def forward(self, x):
        COUNT[0] += 1
        os.write(3, encode_reply(Reply(tensors={"y": torch.zeros(x.shape, dtype=x.dtype)}), COUNT[0]))
        return x
