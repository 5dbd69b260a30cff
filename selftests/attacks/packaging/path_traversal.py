# /// attack
# tries = "a zip whose members climb out of it, absolutely, with dots, drives and backslashes"
# outcomes = ["ungradable"]
# ///

import zipfile


def build(folder, right):
    names = (
        "../../course/tests/oracles.py",
        "../modules.py",
        "/tmp/canary-left-modules.py",
        "C:\\modules.py",
        "a\\..\\modules.py",
    )
    with zipfile.ZipFile(folder.with_name(folder.name + ".zip"), "w") as archive:
        for name in names:
            archive.writestr(name, right)
