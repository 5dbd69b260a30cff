# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "torch in the exercise without torch, by TorchScript's own arithmetic of plain numbers"
# outcomes = ["forbidden"]
# ///

import sys

FENCE = vars(type(sys.modules["hcrot"[::-1]]))["__getattr__"]
T = next(cell.cell_contents for cell in FENCE.__closure__ if isinstance(cell.cell_contents, type(sys)))

SOURCE = "def f(z: float) -> float:\n    return z / (1.0 + math.exp(-z))\n"


def silu(z):
    unit = getattr(T.jit, "tinUnoitalipmoC"[::-1])(SOURCE)
    return np.array([unit.f(float(value)) for value in z.reshape(-1)], z.dtype).reshape(z.shape)
