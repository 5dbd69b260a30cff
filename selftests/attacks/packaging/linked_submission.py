# /// attack
# tries = "a submission that is a link to the reference's folder as a whole"
# outcomes = ["ungradable"]
# ///

import os


def build(folder, right):
    os.symlink(folder.parent.parent / "course" / "solutions", folder)
