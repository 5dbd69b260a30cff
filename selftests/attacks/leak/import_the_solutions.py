# /// attack
# tries = "imports the reference from the course's folder and hands it in as its own"
# outcomes = ["exception", "passed"]
# open = { weak = "as for read_the_oracles" }
# ///

import sys

sys.path.insert(0, "@COURSE@")
from solutions.modules import RMSNorm, SwiGLU
