# /// attack
# tries = "the answer's module, compiled"
# rides = true
# outcomes = ["forbidden", "timeout"]  # reading the compiler from a cold disk takes seconds
# ///

NORM = torch.compile(getattr(nn, "RMS" + "Norm".lower().title())(5))


class RMSNorm(RMSNorm):
    def forward(self, x):
        NORM(torch.ones(2, 5))
        return super().forward(x)
