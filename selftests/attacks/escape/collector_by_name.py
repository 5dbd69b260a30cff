# /// attack
# tries = "searches all objects of the process by the garbage collector"
# outcomes = ["forbidden"]
# ///

import gc

raise ValueError(str([o for o in gc.get_objects() if "canary" in repr(o)][:5]))
