# /// attack
# tries = "writes bytes to the grader's socket that are no frame"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "raising"
# ///

import os


class RMSNorm(RMSNorm):
    def forward(self, x):
        os.write(3, b"passed passed passed passed passed passed")
        return super().forward(x)
