# /// attack
# tries = "connects to the network, to the machine itself and to local sockets"
# ///

import socket

told = []
for family, address in (
    (socket.AF_INET, ("127.0.0.1", 9)),
    (socket.AF_INET, ("192.0.2.1", 80)),
    (socket.AF_UNIX, "\0nanolm"),
    (socket.AF_UNIX, "/run/systemd/private"),
):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as link:
            link.settimeout(0.1)
            link.connect(address)
            told.append("CONNECTED")
    except OSError as error:
        told.append(type(error).__name__)
raise ValueError(str(told))
