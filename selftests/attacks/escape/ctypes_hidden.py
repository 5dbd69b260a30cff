# /// attack
# tries = "reaches ctypes through sys.modules and asks the kernel for what it should not give: ptrace, mount, unshare"
# ///

import os
import sys

C = sys.modules["sepytc"[::-1]].CDLL(None)
answers = {
    "ptrace": C.ptrace(0x4206, os.getppid(), 0, 0),
    "unshare": C.unshare(0x10000000) if os.environ.get("HOME") != "@COURSE@" and False else -1,
    "process_vm_readv": C.process_vm_readv(os.getppid(), None, 0, None, 0, 0),
    "open_by_handle_at": C.open_by_handle_at(0, None, 0),
}
raise ValueError(str(answers))
