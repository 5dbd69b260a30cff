# /// attack
# tries = "a module with a hundred thousand parameters of long names"
# rides = true
# marks = "reference"
# seconds = 60
# outcomes = ["timeout", "wrong_interface"]
# ///


class RMSNorm(RMSNorm):
    def __init__(self, d_model, eps=1e-6):
        super().__init__(d_model, eps)
        one = nn.Parameter(torch.ones(1))
        for number in range(5_000):
            self._parameters[f"{number}" * 40] = one
