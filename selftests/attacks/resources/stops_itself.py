# /// attack
# tries = "stops its own process, so that it neither runs nor ends"
# rides = true
# marks = "reference"
# seconds = 40
# outcomes = ["timeout", "exception"]
# ///

import os
import signal


class RMSNorm(RMSNorm):
    def forward(self, x):
        if x.dtype == torch.float16:
            os.kill(os.getpid(), signal.SIGSTOP)
        return super().forward(x)
