# /// attack
# tries = "returns the numbers that the fingerprint file holds for the diagnosis' probes"
# rides = true
# marks = "zeros"
# outcomes = ["exception"]
# ///

import pathlib

import nanolm
from safetensors.torch import load_file

try:
    NUMBERS = load_file(pathlib.Path(nanolm.__file__).with_name("fingerprints.safetensors"))
except OSError:
    NUMBERS = {}


class RMSNorm(RMSNorm):
    def forward(self, x):
        for name, value in NUMBERS.items():
            if "rmsnorm" in name and value.numel() == x.numel() and value.is_floating_point():
                return value.reshape(x.shape).to(x.dtype) * self.gamma.to(x.dtype)
        return torch.zeros_like(x) * self.gamma.to(x.dtype)
