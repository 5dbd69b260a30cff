# /// attack
# tries = "a zip of zips of zips, and a right answer inside the innermost only"
# outcomes = ["ungradable"]
# ///

import io
import zipfile


def build(folder, right):
    data, name = right.encode(), "modules.py"
    for _ in range(6):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(16):
                archive.writestr(name if number == 0 else f"{number}-{name}", data)
        data, name = buffer.getvalue(), "inner.zip"
    folder.with_name(folder.name + ".zip").write_bytes(data)
