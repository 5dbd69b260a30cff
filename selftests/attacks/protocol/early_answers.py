# /// attack
# tries = "a thread answers the next call before it is asked"
# rides = true
# outcomes = ["crashed", "passed", "wrong_value", "wrong_shape", "wrong_dtype", "wrong_gradient"]
# marks = "reference"
# ///

import os
import threading
import time

from grader.wire import encode_reply
from nanolm.protocol import Reply

COUNT = [0]


class RMSNorm(RMSNorm):
    def forward(self, x):
        COUNT[0] += 1
        early = encode_reply(Reply(tensors={"y": torch.zeros(x.shape, dtype=x.dtype)}), COUNT[0] + 1)

        def later():
            time.sleep(0.001)
            os.write(3, early)

        threading.Thread(target=later).start()
        return super().forward(x)
