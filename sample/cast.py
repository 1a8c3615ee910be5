"""Who, where and how many in one story line, and how the article and the summary mention them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from sample.grammar import Template, expand, tidy
from sample.library import Library, bare, kind
from sample.names import ENTITIES, VALUES, Entity


@dataclass
class Cast:
    """The values of a story line's slots, each drawn when it is first needed."""

    library: Library
    rng: Random
    home: Entity
    values: dict[str, str] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.entities["place"] = self.home

    def entity(self, slot: str) -> Entity:
        name = bare(slot)
        if name not in self.entities:
            self.entities[name] = ENTITIES[kind(slot)](self.rng)
        return self.entities[name]

    def value(self, slot: str) -> str:
        """The value of a slot that is no entity; those numbered differently differ."""
        name, sort = bare(slot), kind(slot)
        while name not in self.values:
            value = self._draw(sort)
            if all(value != other for key, other in self.values.items() if kind(key) == sort):
                self.values[name] = value
        return self.values[name]

    def _draw(self, sort: str) -> str:
        if sort in VALUES:
            return VALUES[sort](self.rng)
        return expand(self.library.lists[sort], self.rng, self.value)


class Voice(ABC):
    """Fills templates for one reader; subclasses decide how somebody or some place is mentioned."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def say(self, template: Template, cast: Cast, core: str = "") -> str:
        def fill(slot: str) -> str:
            if slot == "core":
                return core
            if slot == "in_place":
                return self.where(cast)
            return self._fill(slot, cast, fill)

        return tidy(expand(template, self.rng, fill))

    def _fill(self, slot: str, cast: Cast, fill: Callable[[str], str]) -> str:
        sort = kind(slot)
        if sort in cast.library.fragments:
            return expand(self.rng.choice(cast.library.fragments[sort]), self.rng, fill)
        if sort not in ENTITIES:
            return _with_article(slot, cast.value(slot)) + (" 's" if slot.endswith("'s") else "")
        entity = cast.entity(slot)
        new, name = self.mention(entity)
        if slot.endswith("+") and new and self.rng.random() < 0.6:
            name += " " + fill("apposition" if sort == "person" else "business")
        return name + (" 's" if slot.endswith("'s") else "")

    @abstractmethod
    def mention(self, entity: Entity) -> tuple[bool, str]:
        """Whether a reader meets the entity here for the first time, and the name to use."""

    @abstractmethod
    def where(self, cast: Cast) -> str: ...


class Reporter(Voice):
    """Writes the article: full names at first, later full or short ones. Notes the names in a sentence."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self.known: set[str] = set()
        self.sentence_names: set[str] = set()

    def mention(self, entity: Entity) -> tuple[bool, str]:
        new = entity.full not in self.known
        self.known.add(entity.full)
        name = entity.full if new or self.rng.random() < 0.6 else entity.short
        self.sentence_names.add(name)
        return new, name

    def where(self, cast: Cast) -> str:
        if cast.home.full in self.known and self.rng.random() < 0.1:
            return ""
        name = self.mention(cast.home)[1]
        return f"in the {cast.value('town_kind')} of {name}" if self.rng.random() < 0.3 else f"in {name}"


class Reminder(Voice):
    """Tells again what the reader knows: short names, no place."""

    def mention(self, entity: Entity) -> tuple[bool, str]:
        return False, entity.short

    def where(self, cast: Cast) -> str:
        return ""


class Editor(Voice):
    """Writes the highlights: no full name twice, no place twice, nothing that the source sentence lacks."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self.known: set[str] = set()
        self.source_names: frozenset[str] = frozenset()

    def mention(self, entity: Entity) -> tuple[bool, str]:
        full = entity.full in self.source_names and entity.full not in self.known
        self.known.add(entity.full)
        return False, entity.full if full else entity.short

    def where(self, cast: Cast) -> str:
        if cast.home.full in self.known or cast.home.full not in self.source_names:
            return ""
        return f"in {self.mention(cast.home)[1]}"


def _with_article(slot: str, value: str) -> str:
    if slot.startswith(("a_", "an_")):
        return ("an " if value[0] in "aeiou" else "a ") + value
    return value
