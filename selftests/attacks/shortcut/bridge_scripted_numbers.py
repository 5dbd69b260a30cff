# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "torch in the exercise without torch, by TorchScript's own arithmetic of plain numbers"
# outcomes = ["forbidden"]
# ///

import sys

T = sys.modules["hcrot"[::-1]]

SOURCE = "def f(z: float) -> float:\n    return z / (1.0 + math.exp(-z))\n"


def silu(z):
    unit = getattr(T.jit, "tinUnoitalipmoC"[::-1])(SOURCE)
    return np.array([unit.f(float(value)) for value in z.reshape(-1)], z.dtype).reshape(z.shape)
