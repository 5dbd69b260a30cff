# /// attack
# tries = "a thread reads the grader's calls from the socket before the worker does, and answers them with zeros"
# rides = true
# outcomes = ["crashed", "passed", "wrong_value", "timeout", "exception"]
# marks = "reference"
# seconds = 40
# ///

import os
import select
import threading

from grader.wire import HEADER, MAGIC, encode_reply
from nanolm.protocol import Reply


def steal():
    while True:
        select.select([3], [], [])
        data = os.read(3, 1 << 20)
        if data.startswith(MAGIC):
            os.write(3, encode_reply(Reply(tensors={"y": torch.zeros(1)}), HEADER.unpack(data[: HEADER.size])[2]))


class RMSNorm(RMSNorm):
    def forward(self, x):
        if x.dtype == torch.float16:
            threading.Thread(target=steal, daemon=True).start()
        return super().forward(x)
