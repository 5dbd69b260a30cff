# /// attack
# tries = "reports that its test passed, was not run here, or that the grader's machinery failed, so that nothing counts"
# rides = true
# outcomes = ["crashed", "passed"]
# marks = "raising"
# ///

import itertools
import os

from grader.wire import encode_fault
from nanolm.protocol import Outcome, StudentFault

TURN = itertools.cycle([Outcome.PASSED, Outcome.INFRASTRUCTURE, Outcome.NOT_RUN_HERE, Outcome.TIMEOUT])
COUNT = [0]


class RMSNorm(RMSNorm):
    def forward(self, x):
        COUNT[0] += 1
        os.write(3, encode_fault(StudentFault(next(TURN), "FORGED"), COUNT[0]))
        return x
