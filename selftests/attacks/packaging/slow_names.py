# /// attack
# tries = "a source made to be slow for the reader of names: aliases of aliases in nested scopes"
# outcomes = ["passed", "exception", "timeout", "forbidden"]
# marks = "reference"
# seconds = 60
# ///


def build(folder, right):
    lines = ["import torch as a0"]
    lines += [f"a{n}, b{n} = a{n - 1}, getattr(a{n - 1}, 'nn', b{n - 1} if {n} > 1 else a0)" for n in range(1, 800)]
    for depth in range(15):
        lines.append("    " * depth + f"def f{depth}(x={depth}):")
    lines.append("    " * 15 + "return [y for y in x for z in y for w in z]")
    folder.mkdir()
    (folder / "modules.py").write_text(right + "\n" + "\n".join(lines) + "\n")
