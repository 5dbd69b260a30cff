# /// attack
# tries = "its own config.py, attention.py and __init__.py, which answers import, with code in them"
# outcomes = ["passed", "wrong_value", "exception", "wrong_interface"]
# exercise = "budget"
# marks = "reference"
# ///

TRAP = "raise SystemExit('FORGED')\n"


def build(folder, right):
    folder.mkdir()
    for name in ("config.py", "attention.py", "model.py", "__init__.py", "dataclasses.py"):
        (folder / name).write_text(TRAP)
    (folder / "budget.py").write_text(right)
