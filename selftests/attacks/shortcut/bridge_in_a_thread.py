# /// attack
# exercise = "numpy_bridge"
# tries = "torch in the exercise without torch, called in a thread of its own"
# rides = true
# outcomes = ["forbidden"]
# ///

import sys
import threading


def silu(z):
    torch = sys.modules["hcrot"[::-1]]
    told = []
    thread = threading.Thread(
        target=lambda: told.append(torch.nn.functional.silu(torch.from_numpy(np.array(z))).numpy())
    )
    thread.start()
    thread.join()
    return told[0]
