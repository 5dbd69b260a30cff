# /// attack
# tries = "the answer's operator out of a pickle"
# rides = true
# outcomes = ["forbidden"]
# ///

import pickle

NORM = pickle.loads(b"ctorch.nn.functional\nrms_norm\n.")


class RMSNorm(RMSNorm):
    def forward(self, x):
        return NORM(x, (x.shape[-1],), self.gamma, self.eps)
