# /// attack
# tries = "a modules.py of forty megabytes, mostly a hole"
# outcomes = ["ungradable"]
# ///


def build(folder, right):
    folder.mkdir()
    with open(folder / "modules.py", "wb") as file:
        file.write(right.encode() + b"\n#")
        file.truncate(40 << 20)
