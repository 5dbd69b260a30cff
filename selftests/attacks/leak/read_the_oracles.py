# /// attack
# tries = "reads the tests' oracles and tells them as an exception"
# open = { weak = "a user of its own for workers, or a file view: medium has one" }
# ///

raise ValueError(open("@COURSE@/tests/oracles.py").read()[-400:])
