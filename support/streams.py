"""Standard input, output and error streams that the caller has closed."""

from __future__ import annotations

import os
import sys


def replace_closed_streams() -> None:
    """Opens /dev/null under their file descriptors.

    Otherwise the next file to be opened would get one of these, and with it whatever libraries print. `sys.stdin` and
    `sys.stdout` stay None, so that code that needs them can say that they are closed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # noqa: PERF203
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
