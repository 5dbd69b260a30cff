# /// attack
# tries = "loads the C library by its name"
# outcomes = ["forbidden"]
# ///

import ctypes

ctypes.CDLL(None).kill(-1, 0)
