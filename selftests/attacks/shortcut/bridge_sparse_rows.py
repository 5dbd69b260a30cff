# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "torch in the exercise without torch, by products with compressed sparse rows, whose kernels stand apart"
# outcomes = ["forbidden"]
# ///

import sys

T = sys.modules["hcrot"[::-1]]


def swiglu_mlp(x, w_gate, w_up, w_down):
    def product(a, b):
        rows, columns = a.shape
        starts, places = np.arange(rows + 1) * columns, np.tile(np.arange(columns), rows)
        aten = getattr(T, "spo"[::-1]).aten
        left = aten._sparse_csr_tensor_unsafe(*map(T.from_numpy, (starts, places, a.reshape(-1))), [rows, columns])
        out = np.empty((rows, b.shape[1]), a.dtype)
        target = T.from_numpy(out)
        aten.addmm.out(target, left, T.from_numpy(b), beta=0, alpha=1, out=target)
        return out

    rows = x.reshape(-1, x.shape[-1])
    return product(silu(product(rows, w_gate)) * product(rows, w_up), w_down).reshape(*x.shape[:-1], -1)
