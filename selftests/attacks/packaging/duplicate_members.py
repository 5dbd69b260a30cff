# /// attack
# tries = "a zip with two modules.py, a stub for the checker and an answer for the runner"
# outcomes = ["ungradable"]
# ///

import warnings
import zipfile


def build(folder, right):
    with zipfile.ZipFile(folder.with_name(folder.name + ".zip"), "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("modules.py", "x = 1\n")
        archive.writestr("modules.py", right)
