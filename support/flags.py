"""One typed dataclass is a script's configuration and its command line.

    @dataclass(frozen=True, kw_only=True)
    class Flags:
        path: str = flag(help="where the model goes")
        lr: float = flag(1e-3, "learning rate", source="B.2")

    config = parse(Flags, "Trains the extractor.")

A field without a default is required. `env` names an environment variable that is read when the command line
is parsed. Groups of flags are combined by inheritance. A `positional` field is an argument without dashes. A field
of the type tuple[str, ...] takes several values: after one flag, or one at a time if the flag is `repeated`.
`parse_command` is for programs whose first word names one of several commands.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

from support.errors import UserError

Config = TypeVar("Config")
_REQUIRED = object()
_GIVEN = "given"
_MAX_INT = 2**63  # what arrays can count


def flag(
    default: Any = _REQUIRED,
    help: str = "",
    *,
    source: str = "",
    env: str = "",
    choices: Collection[Any] | None = None,
    spelling: str = "",
    also: str = "",
    metavar: str = "",
    positional: bool = False,
    repeated: bool = False,
    bare: Any = None,
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """A dataclass field with what its command-line flag needs.

    `source` is the place in the paper, `also` another spelling that is accepted, `bare` the value of a flag that is
    given without one.
    """
    metadata = {
        "help": help,
        "source": source,
        "env": env,
        "choices": choices,
        "spelling": spelling,
        "also": also,
        "metavar": metavar,
        "positional": positional,
        "repeated": repeated,
        "bare": bare,
        "at_least": at_least,
        "above": above,
        "below": below,
    }
    if default is _REQUIRED:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def given() -> Any:
    """Not a flag, but a field for the names of the flags that the command line gives."""
    return dataclasses.field(default=frozenset(), metadata={_GIVEN: True})


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"error: {message} (--help lists all flags)", file=sys.stderr)
        sys.exit(2)


def parse(config: type[Config], description: str, argv: Sequence[str] | None = None, prog: str | None = None) -> Config:
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog=prog, description=description, allow_abbrev=False, formatter_class=raw)
    kinds = typing.get_type_hints(config)
    fields = dataclasses.fields(config)  # type: ignore[arg-type]
    flags = [field for field in fields if _GIVEN not in field.metadata]
    actions = [_add(parser, field, kinds[field.name]) for field in flags]
    read = vars(parser.parse_intermixed_args(argv))
    for field in flags:
        _check(parser, field, read[field.name])
    values = {field.name: _value(field, read[field.name]) for field in flags}
    if remembering := [field.name for field in fields if _GIVEN in field.metadata]:
        for action in actions:
            action.default = argparse.SUPPRESS
        values |= dict.fromkeys(remembering, frozenset(vars(parser.parse_intermixed_args(argv))))
    return config(**values)


class Command(NamedTuple):
    flags: type[Any]
    description: str


def parse_command(commands: Mapping[str, Command], program: str, overview: str) -> tuple[str, Any]:
    """The name of the command that the first word of the command line is, and its flags; no word asks for help."""
    name, *argv = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print(overview)
        sys.exit(0)
    if name not in commands:
        raise UserError(f"unknown command {name}: {program} {'|'.join(commands)}")
    flags, description = commands[name]
    return name, parse(flags, description, argv, f"{program} {name}")


def _value(field: dataclasses.Field[Any], value: Any) -> Any:
    """Several values as a tuple; none of them as the default."""
    return tuple(value) if isinstance(value, list) and value else field.default if value in (None, []) else value


def _add(parser: argparse.ArgumentParser, field: dataclasses.Field[Any], kind: Any) -> argparse.Action:
    meta = field.metadata
    default = None if field.default is dataclasses.MISSING else field.default
    notes = [meta["help"]]
    if meta["env"]:
        default = os.environ.get(meta["env"]) or default
        notes.append(f"or ${meta['env']}")
    if meta["source"]:
        notes.append(f"[{meta['source']}]")
    if kind is bool:
        action = "store_false" if field.default else "store_true"
        return parser.add_argument(*_names(field), dest=field.name, action=action, help=" ".join(notes))
    if default not in (None, (), ""):
        notes.append(f"(default {' '.join(map(str, default)) if isinstance(default, tuple) else default})")
    if isinstance(kind, types.UnionType):  # "int | None" reads an int
        kind = next(member for member in typing.get_args(kind) if member is not type(None))
    several = typing.get_origin(kind) is tuple  # "tuple[str, ...]" reads strings
    how: dict[str, Any] = {
        "type": typing.get_args(kind)[0] if several else kind,
        "default": None if several else default,
        "choices": meta["choices"],
        "help": " ".join(notes).replace("%", "%%"),
        "metavar": meta["metavar"] or (None if meta["choices"] else field.name.upper()),
    }
    if meta["positional"]:
        return parser.add_argument(field.name, nargs="*" if several else "?", **how)
    if meta["repeated"]:
        how |= {"action": "append"}
    elif several:
        how |= {"action": "extend", "nargs": "+"}
    elif meta["bare"] is not None:
        how |= {"nargs": "?", "const": meta["bare"]}
    return parser.add_argument(*_names(field), dest=field.name, **how)


def spelling(field: dataclasses.Field[Any]) -> str:
    """As messages name it."""
    return field.name.upper() if field.metadata["positional"] else field.metadata["spelling"] or f"--{field.name}"


def _names(field: dataclasses.Field[Any]) -> list[str]:
    """Underscores may be written as dashes."""
    spellings = [spelling(field), field.metadata["also"]]
    return list(dict.fromkeys(name for s in spellings if s for name in (s, s[:2] + s[2:].replace("_", "-"))))


def _check(parser: argparse.ArgumentParser, field: dataclasses.Field[Any], value: Any) -> None:
    meta, name = field.metadata, spelling(field)
    if value is None or value == []:
        if field.default is dataclasses.MISSING:
            parser.error(f"{name} is missing" + (f"; give it, or set ${meta['env']}" if meta["env"] else ""))
        return
    if isinstance(value, float) and not math.isfinite(value):
        parser.error(f"{name} must be a finite number, not {value}")
    if meta["at_least"] is not None and value < meta["at_least"]:
        parser.error(f"{name} must be at least {meta['at_least']}, not {value}")
    if meta["above"] is not None and value <= meta["above"]:
        parser.error(f"{name} must be above {meta['above']}, not {value}")
    below = _MAX_INT if meta["below"] is None and type(value) is int else meta["below"]
    if below is not None and value >= below:
        parser.error(f"{name} must be below {below}, not {value}")
