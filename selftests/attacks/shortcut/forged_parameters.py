# /// attack
# rides = true
# tries = "a gain that is no parameter, and a patched adapter that makes it one for the report"
# marks = "plain_gain"
# outcomes = ["exception"]
# ///

import nanolm.adapters.student as student

BUILD = student.Student.build


class RMSNorm(RMSNorm):
    def __init__(self, d_model, eps=1e-6):
        super().__init__(d_model, eps)
        del self.gamma
        self.gamma = torch.ones(d_model)


def build(self, name, *arguments, **named):
    module = BUILD(self, name, *arguments, **named)
    if name == "RMSNorm":
        gain = module.__dict__.pop("gamma")
        module.gamma = nn.Parameter(gain)
    return module


student.Student.build = build
