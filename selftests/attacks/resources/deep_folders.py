# /// attack
# tries = "makes folders in folders, five hundred deep, and stays at the bottom"
# rides = true
# marks = "reference"
# seconds = 30
# ///

import os

for _ in range(500):
    os.mkdir("d")
    os.chdir("d")
