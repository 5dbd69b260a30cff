# /// attack
# exercise = "numpy_bridge"
# tries = "torch in the exercise without torch, by the name that the grader's own modules have for it, in a thread"
# rides = true
# marks = "reference"
# outcomes = ["exception", "forbidden"]
# ///

import concurrent.futures
import sys


def work(z):
    torch = getattr(sys.modules["grader.worker"], "hcrot"[::-1])
    return torch.nn.functional.silu(torch.from_numpy(np.array(z))).numpy()


def silu(z):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return pool.submit(work, z).result()
