# /// attack
# tries = "a zip whose modules.py is a gigabyte of spaces, declared as ten bytes"
# outcomes = ["ungradable"]
# ///

import zipfile


def build(folder, right):
    path = folder.with_name(folder.name + ".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("modules.py", "w") as member:
        for _ in range(128):
            member.write(b" " * (1 << 20))
    data = path.read_bytes()
    path.write_bytes(data.replace((128 << 20).to_bytes(4, "little"), (10).to_bytes(4, "little")))
