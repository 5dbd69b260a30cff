# /// attack
# rides = true
# tries = "as forged_parameters, with the adapter's class found among the subclasses of object"
# marks = "plain_gain"
# outcomes = ["passed"]
# open = { full = "an adapter apart from the submission, or a reader that finds the parameter in the source: in one process a class that is loaded can be found and patched", medium = "an adapter apart from the submission, or a reader that finds the parameter in the source: in one process a class that is loaded can be found and patched", weak = "an adapter apart from the submission, or a reader that finds the parameter in the source: in one process a class that is loaded can be found and patched" }
# ///

STUDENT = next(cls for cls in object.__subclasses__() if cls.__module__ == "nanolm.adapters.student")
BUILD = STUDENT.build


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


STUDENT.build = build
