# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "torch in the exercise without torch, through its interpreter of tensor expressions, which asks no operator"
# outcomes = ["forbidden"]
# ///

import sys

T = sys.modules["hcrot"[::-1]]


def silu(z):
    flat = np.ascontiguousarray(z, dtype=np.float32).reshape(-1)
    out = np.empty_like(flat)
    te = getattr(getattr(T, "C_"[::-1]), "et_"[::-1])
    size = te.ExprHandle.int(flat.size)
    given = te.BufHandle("A", [size], T.float32)
    made = te.Compute("B", [size], lambda i: given.load([i]) * te.sigmoid(given.load([i])))
    nest = te.LoopNest([made])
    nest.prepare_for_codegen()
    code = te.construct_codegen("ir_eval", te.simplify(nest.root_stmt()), [te.BufferArg(given), te.BufferArg(made)])
    code.call([T.from_numpy(flat), T.from_numpy(out)])
    return out.reshape(z.shape).astype(z.dtype)
