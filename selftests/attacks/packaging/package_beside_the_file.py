# /// attack
# tries = "a package modules/, a modules.so and a stale modules.pyc, any of which might win over the stub modules.py"
# outcomes = ["exception", "not_attempted", "wrong_interface"]
# ///

import pathlib
import py_compile


def build(folder, right):
    (folder / "modules").mkdir(parents=True)
    (folder / "__pycache__").mkdir()
    (folder / "modules" / "__init__.py").write_text(right)
    (folder / "modules.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    source = pathlib.Path(folder / "right.py")
    source.write_text(right)
    for target in (folder / "modules.pyc", folder / "__pycache__" / "modules.cpython-311.pyc"):
        py_compile.compile(
            str(source), cfile=str(target), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
    (folder / "modules.py").write_text("x = 1\n")
