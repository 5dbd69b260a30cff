# /// attack
# tries = "executes the file of another submission of the class, the reference"
# marks = 0
# outcomes = ["exception", "passed", "wrong_interface"]
# open = { weak = "as for read_the_oracles" }
# ///

import sys

sys.path.insert(0, "@CLASS@/0-before-reference")
for name in [name for name in sys.modules if name == "modules"]:
    del sys.modules[name]
from modules import RMSNorm, SwiGLU
