# /// attack
# tries = "kills its parent, its group and everything it may"
# levels = ["full", "medium"]
# why = "without Landlock's scopes and seccomp it would end every process of this user"
# ///

import os
import signal

told = []
for attempt in (
    lambda: os.kill(os.getppid(), signal.SIGKILL),
    lambda: os.kill(1, signal.SIGKILL),
    lambda: os.kill(-1, signal.SIGTERM),
    lambda: os.killpg(0, signal.SIGTERM),
):
    try:
        told.append(attempt())
    except OSError as error:
        told.append(type(error).__name__)
raise ValueError(str(told))
