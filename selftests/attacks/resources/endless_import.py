# /// attack
# exercise = "gpt_oss"
# tries = "never gets through its import, in a file whose every test needs it"
# outcomes = ["timeout"]
# seconds = 60
# ///

while True:
    pass
