"""One typed dataclass is a script's configuration and its command line.

    @dataclass(frozen=True, kw_only=True)
    class Flags:
        path: str = flag(help="where the model goes")
        lr: float = flag(1e-3, "learning rate", source="B.2")

    config = parse(Flags, "Trains the extractor.")

A field without a default is required. `env` names an environment variable that is read when the command line
is parsed. Groups of flags are combined by inheritance. A `positional` field is an argument without dashes; of the
type tuple[str, ...] it takes all that are left.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
import types
import typing
from collections.abc import Sequence
from typing import Any, NoReturn, TypeVar

Config = TypeVar("Config")
_REQUIRED = object()


def flag(
    default: Any = _REQUIRED,
    help: str = "",
    *,
    source: str = "",
    env: str = "",
    choices: Sequence[Any] | None = None,
    spelling: str = "",
    positional: bool = False,
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """A dataclass field with what its command-line flag needs; `source` is the place in the paper."""
    metadata = {
        "help": help,
        "source": source,
        "env": env,
        "choices": choices,
        "spelling": spelling,
        "positional": positional,
        "at_least": at_least,
        "above": above,
        "below": below,
    }
    if default is _REQUIRED:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"error: {message} (--help lists all flags)", file=sys.stderr)
        sys.exit(2)


def parse(config: type[Config], description: str, argv: Sequence[str] | None = None) -> Config:
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser(description=description, allow_abbrev=False, formatter_class=raw)
    kinds = typing.get_type_hints(config)
    fields = dataclasses.fields(config)  # type: ignore[arg-type]
    for field in fields:
        _add(parser, field, kinds[field.name])
    values = vars(parser.parse_intermixed_args(argv))
    for field in fields:
        _check(parser, field, values[field.name])
    return config(**values)


def _add(parser: argparse.ArgumentParser, field: dataclasses.Field[Any], kind: Any) -> None:
    meta = field.metadata
    spelling = meta["spelling"] or f"--{field.name}"
    names = list(dict.fromkeys([spelling, spelling[:2] + spelling[2:].replace("_", "-")]))
    default = None if field.default is dataclasses.MISSING else field.default
    notes = [meta["help"]]
    if meta["positional"]:
        parser.add_argument(field.name, nargs="*", default=default, help=meta["help"], metavar=field.name.upper())
        return
    if meta["env"]:
        default = os.environ.get(meta["env"], default)
        notes.append(f"or ${meta['env']}")
    if meta["source"]:
        notes.append(f"[{meta['source']}]")
    if kind is bool:
        action = "store_false" if field.default else "store_true"
        parser.add_argument(*names, dest=field.name, action=action, help=" ".join(notes))
        return
    if default is not None:
        notes.append(f"(default {default})")
    if isinstance(kind, types.UnionType):  # "int | None" reads an int
        kind = next(member for member in typing.get_args(kind) if member is not type(None))
    parser.add_argument(
        *names,
        dest=field.name,
        type=kind,
        default=default,
        choices=meta["choices"],
        help=" ".join(notes).replace("%", "%%"),
        metavar=None if meta["choices"] else field.name.upper(),
    )


def _check(parser: argparse.ArgumentParser, field: dataclasses.Field[Any], value: Any) -> None:
    meta = field.metadata
    name = meta["spelling"] or f"--{field.name}"
    if value is None:
        if field.default is dataclasses.MISSING:
            parser.error(f"{name} is missing" + (f"; give it, or set ${meta['env']}" if meta["env"] else ""))
        return
    if isinstance(value, float) and not math.isfinite(value):
        parser.error(f"{name} must be a finite number, not {value}")
    if meta["at_least"] is not None and value < meta["at_least"]:
        parser.error(f"{name} must be at least {meta['at_least']}, not {value}")
    if meta["above"] is not None and value <= meta["above"]:
        parser.error(f"{name} must be above {meta['above']}, not {value}")
    if meta["below"] is not None and value >= meta["below"]:
        parser.error(f"{name} must be below {meta['below']}, not {value}")
