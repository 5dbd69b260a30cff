# /// attack
# tries = "reads the repository's history and self-tests, where answers lie too"
# open = { weak = "as for read_the_oracles" }
# outcomes = ["exception", "passed"]
# ///

import sys

sys.path.insert(0, "@REPOSITORY@")
from solutions.modules import RMSNorm, SwiGLU
