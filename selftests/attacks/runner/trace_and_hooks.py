# /// attack
# tries = "installs a trace function, a profiler, an audit hook and an exception hook"
# rides = true
# marks = "identity"
# ///

import sys
import threading


def quiet(frame, event, argument):
    return quiet


sys.excepthook = lambda *a: print("FORGED passed")
sys.unraisablehook = lambda *a: None
threading.excepthook = lambda *a: None
sys.settrace(quiet)
sys.setprofile(quiet)
sys.addaudithook(lambda event, arguments: None)


class RMSNorm(RMSNorm):
    def forward(self, x):
        return x
