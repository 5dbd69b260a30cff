# /// attack
# tries = "a regular expression that takes exponential time in C, deaf to Python's signals"
# rides = true
# marks = "reference"
# seconds = 30
# outcomes = ["timeout"]
# ///

import re


class RMSNorm(RMSNorm):
    def forward(self, x):
        if x.dtype == torch.float16:
            re.match(r"(a+)+$", "a" * 60 + "b")
        return super().forward(x)
