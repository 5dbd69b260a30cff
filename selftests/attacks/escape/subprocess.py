# /// attack
# tries = "runs a program, by every way that Python knows"
# outcomes = ["exception"]
# ///

import os
import subprocess

told = []
for attempt in (
    lambda: subprocess.run(["/bin/echo", "FORGED"], capture_output=True, timeout=1),
    lambda: os.posix_spawn("/bin/true", ["true"], {}),
    lambda: os.system("true"),
    lambda: os.popen("true").read(),
):
    try:
        told.append(attempt())
    except BaseException as error:
        told.append(type(error).__name__)
raise ValueError(str(told))
