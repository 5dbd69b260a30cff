"""The grader's end of a worker: sends and gathers frames without ever blocking, and keeps the end of what it prints."""

from __future__ import annotations

import os
import select
import socket
import time

from grader.wire import Frame, Inbox, WireError

KEPT_OUTPUT = 64 * 1024
READ_SIZE = 1024 * 1024


class ConnectionEnded(Exception):
    """The worker's end of the socket is closed: it has died, or given up its connection."""


class Connection:
    """A worker's socket and the pipe that its stdout and stderr go to."""

    def __init__(self, link: socket.socket, output_fd: int) -> None:
        link.setblocking(False)
        os.set_blocking(output_fd, False)
        self._link = link
        self._output_fd: int | None = output_fd
        self._output = bytearray()
        self._outgoing = memoryview(b"")
        self._inbox = Inbox()
        self._poll = select.poll()
        self._poll.register(output_fd, select.POLLIN)

    @property
    def output(self) -> str:
        """The last 64 KiB that the worker printed: a student's text, to be escaped wherever it is shown."""
        return self._output.decode("utf-8", "replace")

    @property
    def ended(self) -> bool:
        """Whether the worker's end is closed; asks no other process."""
        try:
            return not self._link.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def begin(self, frame: bytes) -> None:
        """Start sending a frame; raises WireError where the worker has spoken without being asked."""
        try:
            early = self._link.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            pass
        except OSError as error:
            raise ConnectionEnded from error
        else:
            raise WireError("an answer that nobody asked for") if early else ConnectionEnded
        self._outgoing = memoryview(frame)
        self._send()

    def wait(self, seconds: float) -> Frame | None:
        """Carry on sending and receiving for at most that long; a frame as soon as one is complete.

        Raises WireError for bytes that are no frame, ConnectionEnded when there is nobody left to send any.
        """
        deadline = time.monotonic() + seconds
        while True:
            wanted = select.POLLIN | select.POLLOUT if self._outgoing else select.POLLIN
            self._poll.register(self._link, wanted)
            remaining = max(0.0, deadline - time.monotonic())
            for fd, events in self._poll.poll(remaining * 1000):
                if fd == self._output_fd:
                    self._drain_once()
                    continue
                if events & select.POLLOUT:
                    self._send()
                if events & ~select.POLLOUT and (frame := self._receive()) is not None:
                    return frame
            if time.monotonic() >= deadline:
                return None

    def _send(self) -> None:
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[self._link.send(self._outgoing) :]
        except BlockingIOError:
            return
        except OSError as error:
            raise ConnectionEnded from error

    def _receive(self) -> Frame | None:
        try:
            data = self._link.recv(min(self._inbox.wanted, READ_SIZE))
        except BlockingIOError:
            return None
        except OSError as error:
            raise ConnectionEnded from error
        if not data:
            raise ConnectionEnded
        return self._inbox.feed(data)

    def _drain_once(self) -> bool:
        """Take what the pipe holds now; False when it is empty or closed."""
        if self._output_fd is None:
            return False
        try:
            data = os.read(self._output_fd, READ_SIZE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._poll.unregister(self._output_fd)
            os.close(self._output_fd)
            self._output_fd = None
            return False
        self._output += data
        del self._output[:-KEPT_OUTPUT]
        return True

    def close(self) -> None:
        """Take the last of the output, which may still be growing, and close both ends."""
        for _ in range(64):
            if not self._drain_once():
                break
        if self._output_fd is not None:
            os.close(self._output_fd)
            self._output_fd = None
        self._link.close()
