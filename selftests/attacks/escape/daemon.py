# /// attack
# tries = "leaves its group and its session with a child of a child that means to live on for a minute"
# rides = true
# marks = "reference"
# outcomes = ["passed", "exception"]
# ///

import os
import signal
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                continue
        os.closerange(0, 256)
        time.sleep(60)
    os._exit(0)
