# /// attack
# tries = "finds exec in the builtins' dictionary under a hidden name and runs the answer's operator from a string"
# rides = true
# outcomes = ["forbidden"]
# ///

RUN = vars(print.__self__)["cexe"[::-1]]


class RMSNorm(RMSNorm):
    def forward(self, x):
        scope = {"x": x, "s": (x.shape[-1],)}
        RUN("import torch\ny = torch.nn.functional.rms_norm(x, s)", scope)
        return scope["y"] * self.gamma
