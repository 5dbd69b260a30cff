# /// attack
# tries = "searches the bank of mistakes for a file and tells it backwards"
# open = { weak = "as for read_the_oracles" }
# ///

import pathlib

found = sorted(pathlib.Path("@COURSE@/mistakes").rglob("*.py"))
raise ValueError(f"{len(found)} {found[0].read_text()[-120:][::-1] if found else ''}")
