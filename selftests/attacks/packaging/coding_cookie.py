# /// attack
# tries = "a coding cookie under which a comment is code that the reader of the rule did not see"
# outcomes = ["ungradable", "exception", "wrong_interface"]
# ///

CODE = "# coding: utf-7\n# +AAo-from torch.nn import RMSNorm as Right\n# +AAo-class RMSNorm(Right): pass\n"


def build(folder, right):
    folder.mkdir()
    (folder / "modules.py").write_text(CODE)
