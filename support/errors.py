"""Mistakes that a user can correct are reported in one line, never as a traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

from support.streams import replace_closed_streams


class UserError(Exception):
    """Bad input: the message says what is wrong, where, and what to do."""


def run(main: Callable[[], int | None]) -> None:
    """Runs a script's main; a UserError becomes one line on stderr and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # half a character in a name or text stops no report
    replace_closed_streams()
    try:
        sys.exit(main() or 0)
    except UserError as error:
        sys.exit(_complain(str(error)))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        sys.exit(_complain(f"{error.filename or 'a file or the standard output'}: {error.strerror or error}"))
    except (MemoryError, RuntimeError) as error:
        if not _lacks_memory(error):
            raise
        advice = "smaller sizes or batches need less"
        sys.exit(_complain(f"not enough memory ({first_line(error)}); {advice}"))
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)


def _complain(message: str) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return 2


def _lacks_memory(error: Exception) -> bool:
    """torch tells it by a RuntimeError."""
    return isinstance(error, MemoryError) or ("allocate" in str(error) and "memory" in str(error))


def first_line(error: BaseException) -> str:
    """What a library says of an error, cut to one line; its kind, if it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)
