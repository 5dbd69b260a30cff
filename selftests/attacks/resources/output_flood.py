# /// attack
# tries = "a right answer that prints without end at half precision"
# rides = true
# marks = "reference"
# seconds = 30
# outcomes = ["timeout"]
# ///

import os


class RMSNorm(RMSNorm):
    def forward(self, x):
        while x.dtype == torch.float16:
            os.write(1, b"FORGED passed\n" * 5000)
        return super().forward(x)
