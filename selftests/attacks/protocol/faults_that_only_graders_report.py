# /// attack
# tries = "reports that its test passed, was not run here, or that the grader's machinery failed, so that nothing counts"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "raising"
# ///

import itertools
import json
import os
import struct

TURN = itertools.cycle(["passed", "infrastructure", "not_run_here", "timeout"])
COUNT = [0]


class RMSNorm(RMSNorm):
    def forward(self, x):
        COUNT[0] += 1
        fault = {"outcome": next(TURN), "message": "FORGED", "kind": "", "bases": [], "place": None, "notes": []}
        body = json.dumps(fault).encode()
        os.write(3, struct.pack("<4sBIIQ", b"NLM1", 5, COUNT[0], len(body), 0) + body)
        return x
