# /// attack
# tries = "writes a file into the course's tests, for the next collection to find"
# outcomes = ["exception"]
# open = { weak = "a user of its own for workers, or a file view: medium has one" }
# ///

with open("@COURSE@/tests/canary-left-@NAME@.py", "w") as file:
    file.write("def pytest_runtest_call(item): item.obj = lambda: None\n")
raise ValueError("written")
