# /// attack
# tries = "goes through /proc/self/root, cwd and the parent's descriptors to files that it may not open"
# outcomes = ["exception"]
# open = { weak = "as for files_in_the_course" }
# ///

import os

told = []
for path in (
    "/proc/self/root@COURSE@/solutions/modules.py",
    f"/proc/{os.getppid()}/root@COURSE@/solutions/modules.py",
    f"/proc/{os.getppid()}/cwd/../course/solutions/modules.py",
    "/proc/1/root@COURSE@/solutions/modules.py",
):
    try:
        told.append(open(path).read()[-100:])
    except OSError as error:
        told.append(type(error).__name__)
raise ValueError(str(told))
