# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "torch in the exercise without torch, out of the globals of a class found among the subclasses of object, in a thread"
# outcomes = ["forbidden"]
# ///

import threading

MODULE = next(
    cls for cls in object.__subclasses__() if f"{cls.__module__}.{cls.__name__}" == "torch.nn.modules.module.Module"
)
T = getattr(MODULE.register_buffer, "__slabolg__"[::-1])["hcrot"[::-1]]


def silu(z):
    told = []
    thread = threading.Thread(target=lambda: told.append(T.nn.functional.silu(T.from_numpy(np.array(z))).numpy()))
    thread.start()
    thread.join()
    return told[0]
