# /// attack
# tries = "torch's own module, found among the subclasses of nn.Module"
# rides = true
# outcomes = ["forbidden"]
# ///

BASE = [cls for cls in nn.Module.__subclasses__() if cls.__name__ == "mroNSMR"[::-1] and cls.__module__[:5] == "torch"][
    0
]


class RMSNorm(BASE):
    def __init__(self, d_model, eps=1e-6):
        super().__init__(d_model, eps)
        self.gamma = self.weight
        del self.weight

    def forward(self, x):
        self.weight = self.gamma
        return super().forward(x)
