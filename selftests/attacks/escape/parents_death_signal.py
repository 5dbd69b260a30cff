# /// attack
# tries = "takes back that it ends with its parent, makes itself undumpable, and changes its name to confuse /proc"
# rides = true
# marks = "reference"
# outcomes = ["exception"]
# ///

import sys

C = sys.modules["sepytc"[::-1]].CDLL(None)
C.prctl(1, 0, 0, 0, 0)
C.prctl(4, 0, 0, 0, 0)
C.prctl(15, b") Z 1 1 1 1 1", 0, 0, 0)
