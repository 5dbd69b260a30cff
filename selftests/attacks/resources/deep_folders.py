# /// attack
# tries = "makes folders in folders, two thousand deep, and stays at the bottom"
# rides = true
# marks = "reference"
# seconds = 15
# ///

import os

for _ in range(2000):
    os.mkdir("d")
    os.chdir("d")
