# /// attack
# tries = "an exception's text with terminal escapes: clear, title, colours, cursor, hyperlink"
# rides = true
# marks = "raising"
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise ValueError("\x1b[2J\x1b[H\x1b]0;owned\x07\x1b[32mPASSED\x1b[0m\x1b]8;;http://x\x1b\\a\x9b1A\x08\x7f")
