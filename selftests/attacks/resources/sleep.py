# /// attack
# tries = "a right answer that sleeps an hour at half precision, ignoring every signal that can be ignored"
# rides = true
# marks = "reference"
# seconds = 40
# outcomes = ["timeout"]
# ///

import signal
import time

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue


class RMSNorm(RMSNorm):
    def forward(self, x):
        if x.dtype == torch.float16:
            time.sleep(3600)
        return super().forward(x)
