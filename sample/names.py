"""Invented names with a long tail, and numbers with many values: what a summariser has to copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Entity:
    """Somebody or something with a full name and a short one."""

    full: str
    short: str


_ONSETS = [
    "b", "br", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "kl", "kr", "l", "m", "n", "p", "pr", "r", "s",
    "sk", "sl", "st", "t", "tr", "v", "w", "y", "z",
]
_NUCLEI = ["a", "e", "i", "o", "u", "a", "e", "o", "ai", "ei", "ou", "ia"]
_CODAS = ["l", "m", "n", "r", "s", "t", "k", "nd", "rn", "rk", "lm", "sk", "nt", "ld", "v", "th", "rd"]
_SURNAME_ENDINGS = [
    "sen", "vik", "rak", "mar", "dell", "hom", "berg", "osk", "ari", "enko", "und", "ax", "eth", "quist",
    "ova",
]
_PLACE_ENDINGS = [
    "mora", "ford", "stad", "holm", "grad", "wick", "haven", "dal", "burg", "minster", "ona", "eth", "au",
    "field",
]
_FIRM_KINDS = [
    "foods", "steel", "motors", "mills", "lines", "energy", "textiles", "brothers", "works", "shipping",
    "glass", "holdings",
]
_TEAM_KINDS = ["rovers", "united", "wanderers", "athletic", "city", "hawks", "sailors"]
_STREET_KINDS = ["street", "road", "lane", "avenue", "square"]
_PAPERS = ["courier", "herald", "tribune", "observer", "gazette"]


def _stem(rng: Random, syllables: int) -> str:
    return "".join(rng.choice(_ONSETS) + rng.choice(_NUCLEI) for _ in range(syllables)) + rng.choice(_CODAS)


def _surname(rng: Random) -> str:
    return _stem(rng, 1) + rng.choice(_SURNAME_ENDINGS)


def _place_name(rng: Random) -> str:
    return _stem(rng, 1) + rng.choice(_PLACE_ENDINGS)


def _pool(name: str, make: Callable[[Random], str], size: int) -> list[str]:
    rng = Random(f"pool of {name}")
    return [make(rng) for _ in range(size)]


_GIVEN_NAMES = _pool("given names", lambda rng: _stem(rng, 1) + rng.choice("aeio"), 160)
_KNOWN_SURNAMES = _pool("surnames", _surname, 150)
_KNOWN_PLACES = _pool("places", _place_name, 120)
_KNOWN_FIRMS = _pool("firms", lambda rng: _stem(rng, 2), 80)


def _known_or_new(rng: Random, known: list[str], new: Callable[[Random], str], share_known: float) -> str:
    return rng.choice(known) if rng.random() < share_known else new(rng)


def person(rng: Random) -> Entity:
    last = _known_or_new(rng, _KNOWN_SURNAMES, _surname, 0.3)
    return Entity(f"{rng.choice(_GIVEN_NAMES)} {last}", last)


def place(rng: Random) -> Entity:
    name = _known_or_new(rng, _KNOWN_PLACES, _place_name, 0.4)
    return Entity(name, name)


def firm(rng: Random) -> Entity:
    name = _known_or_new(rng, _KNOWN_FIRMS, lambda rng: _stem(rng, 2), 0.3)
    return Entity(f"{name} {rng.choice(_FIRM_KINDS)}", name)


def team(rng: Random) -> Entity:
    name = _known_or_new(rng, _KNOWN_PLACES, _place_name, 0.4)
    return Entity(f"{name} {rng.choice(_TEAM_KINDS)}", name)


def _count(rng: Random) -> str:
    if rng.random() < 0.4:
        return str(rng.randint(110, 990))
    return f"{rng.randint(100, 2990) * 10:,}"


ENTITIES: dict[str, Callable[[Random], Entity]] = {
    "person": person,
    "firm": firm,
    "team": team,
    "place": place,
}

VALUES: dict[str, Callable[[Random], str]] = {
    "town": _place_name,
    "river": lambda rng: _stem(rng, 1) + "a",
    "street": lambda rng: f"{_stem(rng, 2)} {rng.choice(_STREET_KINDS)}",
    "newspaper": lambda rng: f"the {rng.choice(_KNOWN_PLACES)} {rng.choice(_PAPERS)}",
    "money": lambda rng: f"$ {rng.randint(11, 999) / 10} million",
    "price": lambda rng: f"$ {rng.randint(2, 180)}",
    "count": _count,
    "tally": lambda rng: str(rng.randint(11, 99)),
    "age": lambda rng: str(rng.randint(19, 93)),
    "percent": lambda rng: str(rng.randint(11, 399) / 10),
    "speed": lambda rng: str(rng.randint(60, 160)),
    "day": lambda rng: str(rng.randint(1, 28)),
    "year": lambda rng: str(rng.randint(1921, 2012)),
    "score": lambda rng: f"{rng.randint(2, 5)}-{rng.randint(0, 1)}",
    "vote": lambda rng: f"{rng.randint(12, 40)} votes to {rng.randint(1, 11)}",
    "hour": lambda rng: f"{rng.randint(1, 12)}:{rng.randint(1, 11) * 5:02} {rng.choice(('a.m.', 'p.m.'))}",
}
