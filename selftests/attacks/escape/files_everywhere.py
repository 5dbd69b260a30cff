# /// attack
# tries = "writes into /tmp, shared memory and the home folder"
# outcomes = ["exception"]
# open = { weak = "as for files_in_the_course" }
# ///

import os

told = []
for folder in ("/tmp", "/dev/shm", os.path.expanduser("~root"), "@CLASS@", ".."):
    try:
        with open(f"{folder}/canary-left-@NAME@", "w") as file:
            file.write("x")
        told.append(folder)
    except OSError as error:
        told.append(type(error).__name__)
raise ValueError(str(told))
