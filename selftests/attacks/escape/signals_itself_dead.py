# /// attack
# tries = "a right answer that ends by signals which look like the grader's own: SIGXCPU and SIGKILL"
# rides = true
# marks = "reference"
# outcomes = ["passed", "timeout", "crashed"]
# ///

import os
import signal


class RMSNorm(RMSNorm):
    def forward(self, x):
        if x.dtype == torch.float16:
            try:
                os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os.abort()
        return super().forward(x)
