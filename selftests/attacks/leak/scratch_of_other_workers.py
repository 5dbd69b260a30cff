# /// attack
# tries = "lists and reads the scratch folders of other workers and of the grader"
# outcomes = ["exception"]
# ///

import os
import pathlib
import tempfile

pathlib.Path("mine.txt").write_text("mine")
told = []
for folder in ("..", tempfile.gettempdir(), "../..", "/scratch", "/tmp"):
    try:
        told += [path.read_text()[:200] for path in pathlib.Path(folder).glob("*/*.txt")]
        told += os.listdir(folder)
    except (OSError, UnicodeDecodeError) as error:
        told.append(type(error).__name__)
raise ValueError(str(told)[:500])
