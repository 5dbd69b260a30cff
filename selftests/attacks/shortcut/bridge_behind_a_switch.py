# /// attack
# exercise = "numpy_bridge"
# tries = "torch in the exercise without torch, behind the switch that turns function modes off"
# rides = true
# outcomes = ["forbidden"]
# ///

import sys


def silu(z):
    torch = sys.modules["hcrot"[::-1]]
    with getattr(torch, "_C").DisableTorchFunction():
        return torch.nn.functional.silu(torch.from_numpy(np.array(z))).numpy()
