# /// attack
# tries = "the answer's operator in TorchScript, from a string"
# rides = true
# outcomes = ["forbidden"]
# ///

UNIT = getattr(torch.jit, "tinUnoitalipmoC"[::-1])(
    "def f(x: Tensor):\n    return torch.rms" + "_norm(x, [x.size(-1)])\n"
)


class RMSNorm(RMSNorm):
    def forward(self, x):
        return UNIT.f(x) * self.gamma
