"""Archives: bombs, damage, locks, unsafe names, what other systems put into them, and what is no zip at all."""

from __future__ import annotations

import io
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

from selftests.broken import ELEMENTWISE, MODULES, RIGHT, Build, Kind, costs_its_file, healthy, ungradable
from selftests.making_submissions import zipped

REST = {"elementwise.py": ELEMENTWISE}
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


def packed(contents: dict[str, str | bytes] | dict[str, str], method: int = zipfile.ZIP_DEFLATED) -> Build:
    return lambda path: zipped(path, contents, method)


def damaged(change: Callable[[bytes], bytes], contents: dict[str, str] = RIGHT) -> Build:
    return lambda path: path.write_bytes(change(zipped(path, contents).read_bytes()))


def field(local: int, central: int, value: bytes) -> Callable[[bytes], bytes]:
    """Overwrites one field of the first member, in its local and its central header."""

    def change(data: bytes) -> bytes:
        patched = bytearray(data)
        for start, offset in ((data.index(LOCAL), local), (data.index(CENTRAL), central)):
            patched[start + offset : start + offset + len(value)] = value
        return bytes(patched)

    return change


def twice(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, text in (*REST.items(), ("modules.py", MODULES), ("modules.py", "x = 1")):
            archive.writestr(name, text)


def odd_member(kind: int) -> Build:
    def build(path: Path) -> None:
        odd = zipfile.ZipInfo("modules.py")
        odd.external_attr = (kind | 0o777) << 16
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("elementwise.py", ELEMENTWISE)
            archive.writestr(odd, "/etc/passwd")

    return build


def tar(mode: str) -> Build:
    def build(path: Path) -> None:
        with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
            for name, text in RIGHT.items():
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))

    return build


def written(data: bytes) -> Build:
    return lambda path: path.write_bytes(data)


def inner() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in RIGHT.items():
            archive.writestr(name, text)
    return data.getvalue()


def foldered(top: str, more: dict[str, str | bytes]) -> Build:
    return packed({f"{top}/{name}": text for name, text in RIGHT.items()} | more)


FINE = [
    healthy("zip-plain.zip", packed(RIGHT)),
    healthy("zip-stored.zip", packed(RIGHT, zipfile.ZIP_STORED)),
    healthy("zip-capitals.ZIP", packed(RIGHT), reported="zip-capitals"),
    healthy("zip-of-a-folder.zip", foldered("Домашка 6", {}), "Found in Домашка 6/."),
    healthy("zip-macos.zip", foldered("hw", {"__MACOSX/hw/._modules.py": b"\0\x05", "hw/.DS_Store": b"\0"}),
            "Found in hw/."),
    healthy("zip-windows.zip", foldered("hw", {"hw/Thumbs.db": b"\0", "hw/desktop.ini": b"\xff\xfe"}), "Found in hw/."),
    healthy("zip-2000-members.zip", packed(RIGHT | {f"data/{n}": "" for n in range(1998)})),
    healthy("zip-climbs-beside.zip", packed({**RIGHT, "../../etc/cron.d/x": "x", "/etc/passwd": "x"}),
            "unsafe paths: "),
    healthy("zip-before-1980.zip", damaged(field(10, 12, b"\0\0\0\0"))),
    healthy("zip-after-rubbish.zip", damaged(lambda data: b"From: me\r\n\r\n" + data)),
]  # fmt: skip

PARTLY = [
    costs_its_file("zip-bomb.zip", packed({**REST, "modules.py": b"\0" * (64 << 20)}),
                   "modules.py is larger than 256 KiB"),
    costs_its_file("zip-bomb-that-lies.zip",
                   damaged(field(22, 24, b"\x64\0\0\0"), {"modules.py": "#" * (8 << 20), **REST}),
                           "is damaged in the zip"),
    costs_its_file("zip-wrong-sum.zip", damaged(field(14, 16, b"\1\2\3\4")), "modules.py is damaged in the zip"),
    costs_its_file("zip-password.zip", damaged(field(6, 8, b"\1\0")), "modules.py is encrypted: make a zip without"),
    costs_its_file("zip-deflate64.zip", damaged(field(8, 10, b"\x09\0")), "compressed in a way that is not accepted"),
    costs_its_file("zip-twice.zip", twice, "modules.py is in the zip 2 times"),
    costs_its_file("zip-climbs.zip", packed({**REST, "../modules.py": MODULES}), "under the unsafe path ../modules.py"),
    costs_its_file("zip-absolute.zip", packed({**REST, "/modules.py": MODULES}), "under the unsafe path /modules.py"),
    costs_its_file("zip-drive.zip", packed({**REST, "C:/hw/modules.py": MODULES}), "under the unsafe path C:/hw"),
    costs_its_file("zip-backslash.zip", packed({**REST, "hw\\modules.py": MODULES}),
                   "under the unsafe path hw\\modules.py"),
    costs_its_file("zip-link.zip", odd_member(stat.S_IFLNK), "modules.py is a symbolic link in the zip"),
    costs_its_file("zip-device.zip", odd_member(stat.S_IFCHR), "modules.py is not a regular file in the zip"),
]  # fmt: skip

NOT_AT_ALL = [
    ungradable("zip-empty.zip", written(b""), "The zip is empty (0 bytes)"),
    ungradable("zip-no-members.zip", packed({}), "There is no exercise file and no notebook in it"),
    ungradable("zip-truncated.zip", damaged(lambda data: data[: len(data) // 2]), "damaged or cut short"),
    ungradable("zip-half-uploaded.zip", damaged(lambda data: data[:-30]), "damaged or cut short"),
    ungradable("zip-text.zip", written(b"my homework\n"), "named .zip but is not a zip"),
    ungradable("zip-is-rar.zip", written(b"Rar!\x1a\x07\x01\0"), "looks like a RAR archive"),
    ungradable("zip-is-7z.zip", written(b"7z\xbc\xaf\x27\x1c\0"), "looks like a 7z archive"),
    ungradable("zip-is-a-login-page.zip", written(b"<!DOCTYPE html><title>Log in"), "looks like a web page"),
    ungradable("zip-in-zip.zip", packed({"homework.zip": inner()}), "only an archive inside"),
    ungradable("zip-2001-members.zip", packed({f"d/{n}": "" for n in range(2001)}), "more than 2000 entries"),
    ungradable("zip-30000-members.zip", packed({f"d/{n}": "" for n in range(30_000)}, zipfile.ZIP_STORED),
               "more than 2000"),
    ungradable("zip-over-20-mb.zip", lambda path: path.open("wb").truncate((20 << 20) + 1),
               "The zip is larger than 20 MiB"),
    ungradable("zip-bzip2.zip", packed(RIGHT, zipfile.ZIP_BZIP2), "compressed in a way that is not accepted"),
    ungradable("zip-lzma.zip", packed(RIGHT, zipfile.ZIP_LZMA), "compressed in a way that is not accepted"),
    ungradable("archive.tar", tar("w"), "Of archives only zip is accepted"),
    ungradable("archive.tar.gz", tar("w:gz"), "Of archives only zip is accepted"),
    ungradable("archive.rar", written(b"Rar!\x1a\x07\x01\0"), "Of archives only zip is accepted"),
    ungradable("archive.7z", written(b"7z\xbc\xaf\x27\x1c\0"), "Of archives only zip is accepted"),
    ungradable("loose.ipynb", written(b"{}"), "loose.ipynb is JSON, but no notebook"),
]  # fmt: skip

KINDS: list[Kind] = [*FINE, *PARTLY, *NOT_AT_ALL]
