# /// attack
# tries = "ends the interpreter with status 0 as the file is imported"
# ///

import sys

sys.exit(0)
