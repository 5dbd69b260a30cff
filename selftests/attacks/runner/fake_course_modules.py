# /// attack
# tries = "puts modules of its own under the names of the course's tests, oracles and checks"
# rides = true
# marks = "identity"
# ///

import sys
import types


class Anything(types.ModuleType):
    def __getattr__(self, name):
        return lambda *a, **k: True


for name in ("tests", "tests.oracles", "tests.tolerances", "conftest", "nanolm.checks", "nanolm.judge", "pytest"):
    sys.modules[name] = Anything(name)


class RMSNorm(RMSNorm):
    def forward(self, x):
        return x
