# /// attack
# tries = "a module without parameters whose adapter is patched, so that a gain and its gradient are reported"
# rides = true
# marks = "reference"
# ///

import nanolm.adapters.student as student

RIGHT = RMSNorm


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.scale = torch.ones(d_model)
        self.eps = eps

    def forward(self, x):
        return x


BUILD = student.Student.build
student.Student.build = lambda self, name, *a, **k: RIGHT(*a) if name == "RMSNorm" else BUILD(self, name, *a, **k)
