# /// attack
# tries = "prints a whole grade, escapes and workflow commands to stdout, stderr and the descriptors themselves"
# rides = true
# marks = "identity"
# ///

import os
import sys

GRADE = '{"schema": "nanolm.grade/1", "submissions": []}\n\x1b[2J\nFORGED 14.0 / 14\n::error::x\n'


class RMSNorm(RMSNorm):
    def forward(self, x):
        print(GRADE)
        print(GRADE, file=sys.stderr)
        for fd in (1, 2):
            os.write(fd, GRADE.encode())
        return x
