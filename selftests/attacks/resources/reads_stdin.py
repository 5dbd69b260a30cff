# /// attack
# tries = "waits for input, from stdin and from the terminal"
# outcomes = ["exception"]
# ///

import os

try:
    terminal = os.open("/dev/tty", os.O_RDONLY)
except OSError:
    terminal = 0
os.read(terminal, 1)
input("Grade? ")
