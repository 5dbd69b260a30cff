# /// attack
# tries = "raises pytest's own skip, so that a test would count as not run"
# rides = true
# marks = "raising"
# ///

import pytest


class RMSNorm(RMSNorm):
    def forward(self, x):
        pytest.skip("not here")
