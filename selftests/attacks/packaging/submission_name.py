# /// attack
# tries = "a submission whose own name clears the screen and forges a row"
# marks = "zeros"
# outcomes = ["exception"]
# ///


def build(folder, right):
    odd = folder.with_name(folder.name + "\x1b[2J\nFORGED ::error::\u202e[red]" + "x" * 120)
    odd.mkdir()
    (odd / "modules.py").write_text("raise ValueError('x')\n")
