# /// attack
# tries = "a child keeps the connection open after its parent has gone, and answers in its place"
# outcomes = ["crashed", "exception", "timeout"]
# seconds = 60
# ///

import os
import time

if os.fork():
    os._exit(0)
os.setsid()
time.sleep(0.3)
raise ValueError("from the child")
