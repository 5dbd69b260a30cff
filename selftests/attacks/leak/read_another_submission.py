# /// attack
# tries = "reads every other submission of the class"
# open = { weak = "as for read_the_oracles" }
# ///

import pathlib

texts = [path.read_text()[-120:] for path in pathlib.Path("@CLASS@").glob("0-*/modules.py")]
raise ValueError(str([text for text in texts if "NEIGHBOUR" in text][:2]) + str(len(texts)))
