# /// attack
# tries = "ends the process with status 0 as the file is imported"
# outcomes = ["crashed"]
# ///

import os

os._exit(0)
