# /// attack
# tries = "zeroes its argument from a thread once the call is over, and the arguments of earlier calls; on a busy machine its own call may not be over"
# rides = true
# marks = "reference"
# outcomes = ["wrong_value", "wrong_gradient"]
# ///

import threading

KEPT = []


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = super().forward(x)
        for old in KEPT:
            old.data.zero_()
        KEPT.append(x)
        threading.Timer(0.01, x.data.zero_).start()
        return y
