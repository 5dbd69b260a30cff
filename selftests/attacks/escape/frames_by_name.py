# /// attack
# tries = "walks up the stack to the worker's own variables"
# rides = true
# outcomes = ["forbidden"]
# ///

import sys


class RMSNorm(RMSNorm):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            frame = frame.f_back
        return x
