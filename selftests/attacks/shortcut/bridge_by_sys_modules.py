# /// attack
# exercise = "numpy_bridge"
# tries = "torch in the exercise without torch, out of sys.modules under a hidden name"
# rides = true
# outcomes = ["forbidden"]
# ///

import sys

T = sys.modules["hcrot"[::-1]]


def silu(z):
    return T.nn.functional.silu(T.from_numpy(np.array(z))).numpy()
