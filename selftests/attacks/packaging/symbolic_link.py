# /// attack
# tries = "a modules.py that is a link to the reference's, and a folder exercises/ that is one to its folder"
# outcomes = ["ungradable"]
# ///

import os


def build(folder, right):
    folder.mkdir()
    course = folder.parent.parent / "course"
    os.symlink(course / "solutions" / "modules.py", folder / "modules.py")
    os.symlink(course / "solutions", folder / "exercises")
