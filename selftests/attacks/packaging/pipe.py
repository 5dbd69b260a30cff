# /// attack
# tries = "a modules.py that is a pipe, at which a reader waits for ever"
# outcomes = ["ungradable"]
# ///

import os


def build(folder, right):
    folder.mkdir()
    os.mkfifo(folder / "modules.py")
