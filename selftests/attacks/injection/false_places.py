# /// attack
# tries = "syntax errors made by hand: another file's name, absurd line and column, escapes in the quoted line"
# rides = true
# marks = "raising"
# ///

import itertools

TURN = itertools.cycle(
    [
        SyntaxError("x", ("@COURSE@/solutions/modules.py", 10**30, -(10**30), "\x1b[2J\nFORGED", 1, 1)),
        SyntaxError("x", ("\nFORGED\x1b", 0, 5 * 10**6, "y" * 10**6)),
        SyntaxError("x", ("@COURSE@/tests/oracles.py", 1, 1, None)),
    ]
)


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise next(TURN)
