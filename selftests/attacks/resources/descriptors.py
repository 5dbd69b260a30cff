# /// attack
# tries = "opens files until there are no descriptors left"
# rides = true
# marks = "reference"
# outcomes = ["wrong_interface", "exception"]
# ///

KEPT = []
try:
    while True:
        KEPT.append(open("/dev/null"))
except OSError:
    pass
