# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "gives torch's pages back their right to be executed, through cffi"
# outcomes = ["crashed", "forbidden"]
# ///

import sys

import cffi

T = sys.modules["hcrot"[::-1]]
FRAME = getattr(sys, "emarfteg_"[::-1])()
while "without_torch" not in getattr(FRAME, "slacol_f"[::-1]):
    FRAME = getattr(FRAME, "kcab_f"[::-1])
TAKEN = getattr(FRAME, "slacol_f"[::-1])["without_torch"]
FFI = cffi.FFI()
FFI.cdef("int mprotect(size_t, size_t, int);")
for mapping in TAKEN._mappings:
    FFI.dlopen(None).mprotect(mapping.begin, mapping.end - mapping.begin, 5)
T.ones(1)


def silu(z):
    return T.nn.functional.silu(T.from_numpy(np.array(z))).numpy()
