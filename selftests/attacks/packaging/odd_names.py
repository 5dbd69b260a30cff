# /// attack
# tries = "exercise files under names that only look right: other letters, spaces, line breaks, case"
# outcomes = ["ungradable", "not_attempted"]
# ///


def build(folder, right):
    folder.mkdir()
    for name in (
        "modules.py\n",
        " modules.py",
        "m\u043edules.py",
        "modules.py\u202e",
        "modules.py.",
        "..modules.py",
        "modules\x1b[2J.py",
    ):
        (folder / name).write_text(right)
