# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "has the grader's own object take torch away once more, with a constant that gives its pages back"
# outcomes = ["crashed", "forbidden"]
# ///

import sys

T = sys.modules["hcrot"[::-1]]
FRAME = getattr(sys, "emarfteg_"[::-1])()
while "without_torch" not in getattr(FRAME, "slacol_f"[::-1]):
    FRAME = getattr(FRAME, "kcab_f"[::-1])
TAKEN = getattr(FRAME, "slacol_f"[::-1])["without_torch"]
getattr(type(TAKEN).begin, "__slabolg__"[::-1])["mmap"].PROT_READ = 5
TAKEN.begin(print)
T.ones(1)


def silu(z):
    return T.nn.functional.silu(T.from_numpy(np.array(z))).numpy()
