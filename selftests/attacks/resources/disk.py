# /// attack
# tries = "a right answer that leaves files behind, one of them large, in folders that nobody may enter"
# rides = true
# marks = "reference"
# outcomes = ["passed", "exception"]
# ///

import os

os.makedirs("a/b/c")
for number in range(50):
    with open(f"a/b/c/{number}", "wb") as file:
        file.write(bytes(1 << 20))
os.umask(0o777)
os.mkdir("closed")
with open("large", "wb") as file:
    try:
        file.truncate(1 << 40)
    except OSError:
        pass
