# /// attack
# tries = "changes the numbers of the returned tensor from a thread, after it was looked at"
# rides = true
# marks = "identity"
# ///

import threading
import time


class RMSNorm(RMSNorm):
    def forward(self, x):
        y = x.clone()

        def later():
            for _ in range(50):
                with torch.no_grad():
                    y.data.copy_(y.data * 1.5)
                time.sleep(0.0005)

        threading.Thread(target=later, daemon=True).start()
        return y
