# /// attack
# tries = "a source of a hundred thousand minus signs, on which a parser runs out of stack"
# outcomes = ["exception", "out_of_memory", "crashed"]
# ///


def build(folder, right):
    folder.mkdir()
    (folder / "modules.py").write_text("x = " + "-" * 100_000 + "1\n" + right[:0])
