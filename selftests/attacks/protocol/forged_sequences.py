# /// attack
# tries = "sends frames for every sequence number that could be meant, those of calls never asked among them"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "zeros"
# ///

import os

from grader.wire import encode_reply
from nanolm.protocol import Reply


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = torch.zeros(x.shape, dtype=x.dtype)
        os.write(3, b"".join(encode_reply(Reply(tensors={"y": y}), n) for n in (2**32 - 1, 0, *range(60))))
        return x
