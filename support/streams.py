"""Standard streams that the caller has closed."""

from __future__ import annotations

import os
import sys


def mend_closed_streams() -> None:
    """Their numbers go to /dev/null, lest the next file that is opened gets one and with it what libraries print.

    `sys.stdin` and `sys.stdout` stay None, for who needs them to tell.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # noqa: PERF203
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
