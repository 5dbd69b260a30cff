# /// attack
# tries = "a folder two hundred deep, with a right answer at the bottom, and two thousand files beside it"
# outcomes = ["ungradable", "not_attempted"]
# ///

import os


def build(folder, right):
    folder.mkdir()
    here = os.getcwd()
    try:
        os.chdir(folder)
        for number in range(2_000):
            os.close(os.open(f"file{number}.txt", os.O_CREAT))
        for _ in range(200):
            os.mkdir("d")
            os.chdir("d")
        with open("modules.py", "w") as file:
            file.write(right)
    finally:
        os.chdir(here)
