# /// attack
# tries = "asks a fresh interpreter for the answer, in which no operator is blocked"
# rides = true
# marks = "raising"
# outcomes = ["exception", "passed", "timeout", "wrong_value", "wrong_gradient", "wrong_dtype"]
# seconds = 80
# open = { weak = "seccomp: medium lets no worker start a process" }
# unsure = true
# ///

import subprocess
import sys

CODE = """import os, torch, sys
x = torch.frombuffer(bytearray(sys.stdin.buffer.read()), dtype=torch.float32).reshape(1, -1)
sys.stdout.buffer.write(torch.nn.functional.rms_norm(x, x.shape[1:], None, 1e-6).numpy().tobytes())"""


class RMSNorm(RMSNorm):
    def forward(self, x):
        raw = x.detach().float().reshape(1, -1).numpy().tobytes()
        done = subprocess.run([sys.executable, "-c", CODE], input=raw, capture_output=True)
        y = torch.frombuffer(bytearray(done.stdout), dtype=torch.float32).reshape(x.shape)
        return (y * self.gamma).to(x.dtype)
