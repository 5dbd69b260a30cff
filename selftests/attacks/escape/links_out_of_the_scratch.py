# /// attack
# tries = "links to the course and to another submission in its own folder, for the grader to follow when it clears up"
# rides = true
# marks = "reference"
# outcomes = ["passed"]
# ///

import os

os.mkdir("inner")
for number, target in enumerate(("@COURSE@", "@CLASS@/0-before-reference", "@COURSE@/solutions/modules.py", "/tmp")):
    for make in (os.symlink, os.link):
        try:
            make(target, f"inner/{make.__name__}-{number}")
        except OSError:
            continue
