# /// attack
# tries = "a modules.py with NULs, after which a careless reader stops"
# outcomes = ["ungradable"]
# ///


def build(folder, right):
    folder.mkdir()
    (folder / "modules.py").write_bytes(b"x = 1\n\0\n" + right.encode())
