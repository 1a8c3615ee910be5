"""Composes an article and its highlights; everything depends on the given random generator alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from sample.cast import Cast, Editor, Reminder, Reporter
from sample.grammar import Template
from sample.library import Key, Library, Story, library
from sample.names import Entity, place

_HIGHLIGHTS = {2: 15, 3: 27, 4: 28, 5: 19, 6: 11}  # number of highlights: how often
_SENTENCES = range(12, 31)
_LOCAL_NEWS = 0.5  # share of articles in which everything happens in one place
_NEWS_COMES_FIRST = 0.6  # share of articles that open with a key sentence
_POSITION_DECAY = 5.0  # in sentences: how fast key sentences become rarer
_PLAIN_RETELLINGS = 0.3  # share of retellings that are worded like news
_FRAMED_WORDS = 24  # longer clauses stand alone


@dataclass(frozen=True)
class Article:
    sentences: list[str]
    highlights: list[str]
    sources: list[int]  # the sentence that each highlight rewrites


@dataclass(frozen=True)
class _StoryLine:
    story: Story
    cast: Cast
    keys: list[Key]


@dataclass(frozen=True)
class _KeySentence:
    line: _StoryLine
    key: Key
    telling: Template
    position: int
    names: frozenset[str]


@dataclass
class _Draft:
    """An article while it is written from its first sentence to its last."""

    library: Library
    rng: Random
    lines: list[_StoryLine]
    minor: list[_StoryLine]
    town: Entity
    reporter: Reporter
    sentences: list[str] = field(default_factory=list)
    told: list[_KeySentence] = field(default_factory=list)
    repeated: set[int] = field(default_factory=set)
    used: set[Template] = field(default_factory=set)
    room: int = 0  # sentences until the next key sentence or the end

    def write(self, template: Template, cast: Cast, frames: str) -> None:
        self.used.add(template)
        self.reporter.sentence_names.clear()
        text = self.reporter.say(template, cast)
        if frames and not _is_long(text):
            text = self.reporter.say(self._one_of(frames), cast, core=text)
        self.sentences.append(text.removesuffix(" .") + " .")

    def _one_of(self, fragment: str) -> Template:
        return self.rng.choice(self.library.fragments[fragment])

    def tell(self, line: _StoryLine, key: Key) -> None:
        position, telling = len(self.sentences), self.rng.choice(key.tell)
        self.write(telling, line.cast, "frame")
        self.told.append(_KeySentence(line, key, telling, position, frozenset(self.reporter.sentence_names)))

    def retell(self) -> bool:
        """A near-duplicate of a key sentence that is at least three sentences back."""
        latest = len(self.sentences) - 3
        old = [key for key in self.told if key.position <= latest and key.position not in self.repeated]
        if not old:
            return False
        chosen = self.rng.choice(old)
        self.repeated.add(chosen.position)
        reminder, cast = Reminder(self.rng), chosen.line.cast
        core = reminder.say(chosen.telling, cast)
        if self.rng.random() < _PLAIN_RETELLINGS or _is_long(core):
            self.write(chosen.telling, cast, "frame")
        else:
            self.sentences.append(reminder.say(self._one_of("reframe"), cast, core=core) + " .")
        return True

    def look_back(self) -> bool:
        """Old news, told like news: only the sentence before them shows that they are no key sentences."""
        line = self._line_apart()
        follow_ups = self.rng.randint(0, 1)
        if self.room < 2 + follow_ups:
            return False
        self.write(self._one_of("flashback"), line.cast, "")
        for key in line.story.keys[: 1 + follow_ups]:
            self.write(self.rng.choice(key.tell), line.cast, "frame")
        return True

    def spread_rumour(self) -> bool:
        cast = (line := self._line_apart()).cast
        core = Reminder(self.rng).say(self.rng.choice(line.story.keys[0].tell), cast)
        self.sentences.append(self.reporter.say(self._one_of("rumour"), cast, core=core) + " .")
        return True

    def _line_apart(self) -> _StoryLine:
        """Of a kind that is not in the news today."""
        news = [line.story.name for line in self.lines]
        story = self.rng.choice([story for story in self.library.stories if story.name not in news])
        return _StoryLine(story, Cast(self.library, self.rng, place(self.rng)), [])

    def fill(self, room: int) -> None:
        """At most `room` sentences that are worth no highlight."""
        self.room = room
        fillers, weights = list(_FILLERS), list(_FILLERS.values())
        while not self.rng.choices(fillers, weights)[0](self):
            pass

    def from_told(self, part: str) -> bool:
        if not self.told:
            return False
        source = self.told[-1] if self.rng.random() < 0.7 else self.rng.choice(self.told)
        return self._from(source.line, part)

    def from_minor(self) -> bool:
        line = self.rng.choice(self.minor)
        begun = line.story.detail[0] in self.used
        return self._from(line, "quote" if begun and self.rng.random() < 0.25 else "detail")

    def from_general(self) -> bool:
        """A sentence about nobody else in the article."""
        story = self.rng.choice(self.library.general)
        line = _StoryLine(story, Cast(self.library, self.rng, self.town), [])
        return self._from(line, "quote" if story.quote and self.rng.random() < 0.3 else "detail")

    def _from(self, line: _StoryLine, part: str) -> bool:
        fresh = [template for template in getattr(line.story, part) if template not in self.used]
        if not fresh:
            return False
        template = fresh[0] if line in self.minor else self.rng.choice(fresh)
        self.write(template, line.cast, "" if part == "quote" else "frame")
        return True


_FILLERS: dict[Callable[[_Draft], bool], int] = {
    lambda draft: draft.from_told("detail"): 14,
    lambda draft: draft.from_told("quote"): 12,
    lambda draft: draft.from_told("past"): 10,
    _Draft.retell: 16,
    _Draft.look_back: 6,
    _Draft.spread_rumour: 7,
    _Draft.from_minor: 19,
    _Draft.from_general: 14,
}


def _is_long(clause: str) -> bool:
    return len(clause.split()) > _FRAMED_WORDS


def compose(rng: Random) -> Article:
    texts = library()
    keys = rng.choices(list(_HIGHLIGHTS), weights=list(_HIGHLIGHTS.values()))[0]
    length = min(max(round(rng.gauss(14 + 1.8 * keys, 3.5)), _SENTENCES[0]), _SENTENCES[-1])
    draft = _plan(texts, rng, keys)
    upcoming = [(line, key) for line in draft.lines for key in line.keys]
    positions = _key_positions(rng, keys, length)
    while len(draft.sentences) < length:
        here = len(draft.sentences)
        if here in positions:
            draft.tell(*upcoming.pop(0))
        else:
            draft.fill(room=min((p for p in positions if p > here), default=length) - here)
    return _edit(draft)


def _plan(texts: Library, rng: Random, keys: int) -> _Draft:
    """Story lines with as many keys as wanted; all in one place or each in its own."""
    town = place(rng)
    local = rng.random() < _LOCAL_NEWS

    def line(story: Story, chosen: list[Key]) -> _StoryLine:
        return _StoryLine(story, Cast(texts, rng, town if local else place(rng)), chosen)

    lines = []
    for story in rng.sample(texts.stories, len(texts.stories)):
        if keys == 0:
            break
        first, *others = story.keys
        also = set(rng.sample(range(len(others)), min(rng.randint(0, 2), len(others), keys - 1)))
        lines.append(line(story, [first] + [key for index, key in enumerate(others) if index in also]))
        keys -= 1 + len(also)
    minor = [line(story, []) for story in rng.sample(texts.minor, 3)]
    return _Draft(texts, rng, lines, minor, town, Reporter(rng))


def _key_positions(rng: Random, keys: int, length: int) -> set[int]:
    """Where the key sentences stand: anywhere, but more often near the start."""
    positions = {0} if rng.random() < _NEWS_COMES_FIRST else set()
    weights = [math.exp(-position / _POSITION_DECAY) + 0.06 for position in range(1, length)]
    while len(positions) < keys:
        positions.add(rng.choices(range(1, length), weights=weights)[0])
    return positions


def _edit(draft: _Draft) -> Article:
    """Highlights in the order of the article, but urgent stories open the summary."""
    editor = Editor(draft.rng)
    highlights, sources = [], []
    for sentence in sorted(draft.told, key=lambda sentence: not sentence.line.story.urgent):
        editor.source_names = sentence.names
        highlights.append(editor.say(draft.rng.choice(sentence.key.sum), sentence.line.cast))
        sources.append(sentence.position)
    return Article(draft.sentences, highlights, sources)
