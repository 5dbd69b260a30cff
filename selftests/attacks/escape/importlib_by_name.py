# /// attack
# tries = "imports under a name put together as the code runs, through importlib"
# outcomes = ["forbidden"]
# ///

import importlib

RMSNorm = importlib.import_module("to" + "rch.nn").RMSNorm
