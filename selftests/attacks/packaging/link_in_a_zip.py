# /// attack
# tries = "a zip whose modules.py is a symbolic link to the reference"
# outcomes = ["ungradable"]
# ///

import zipfile


def build(folder, right):
    member = zipfile.ZipInfo("modules.py")
    member.external_attr = 0o120777 << 16
    with zipfile.ZipFile(folder.with_name(folder.name + ".zip"), "w") as archive:
        archive.writestr(member, str(folder.parent.parent / "course" / "solutions" / "modules.py"))
