# /// attack
# tries = "a modules.py that is a hard link to another submission's"
# outcomes = ["ungradable"]
# ///

import os


def build(folder, right):
    folder.mkdir()
    os.link(folder.parent / "0-before-reference" / "modules.py", folder / "modules.py")
    os.unlink(folder / "modules.py")
    other = folder / "answer.txt"
    other.write_text(right)
    os.link(other, folder / "modules.py")
