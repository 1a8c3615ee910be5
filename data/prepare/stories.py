"""CNN/Daily Mail `.story` files, divided by the official url lists.

By default a sentence is a line, as in the released data, where `hub` splits a text without lines into sentences.
Scores of the two are not comparable; --units sentences makes these files like those.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from data.prepare.documents import (
    LeftOut,
    Preparation,
    RawDocument,
    Source,
    TextRules,
    paragraphs,
    read_text,
    walk,
)
from data.prepare.splits import SPLITS, SplitFlags, split_files
from data.tokenizer import resolve
from support.errors import UserError
from support.flags import flag

_HIGHLIGHT = "@highlight"


@dataclass(frozen=True, kw_only=True)
class StoryFlags(SplitFlags):
    stories: str = flag(help="folder with the .story files, at any depth (cnn/stories and dailymail/stories)")
    source: str | None = flag(None, "folder of the url lists (all_train.txt, all_val.txt, all_test.txt)")
    train: str | None = flag(None, "url list of the training split, instead of --source")
    val: str | None = flag(None, "url list of the validation split, instead of --source")
    test: str | None = flag(None, "url list of the test split, instead of --source")


class _Story(NamedTuple):
    id: str
    url: str
    path: Path


def plan(flags: StoryFlags) -> Preparation:
    stories = {path.stem: path for path in walk(Path(flags.stories), ".story")}
    if not stories:
        raise UserError(f"{flags.stories} holds no .story file")
    unused = dict(stories)
    sources, left_out = [], []
    for split, lists in split_files(flags, ".txt").items():
        found = []
        lists = [path for path in lists if path.name.startswith("all_")] or lists
        for url in _urls(lists, flags.encoding):
            name = hashlib.sha1(url.encode("utf-8")).hexdigest()
            unused.pop(name, None)
            if name in stories:
                found.append(_Story(name, url, stories[name]))
            else:
                left_out.append(LeftOut(split, name, url, "no story of this url"))
        if not found:
            raise UserError(f"no url of {lists[0]} has a story (SHA-1 of url).story in {flags.stories}")
        sources.append(Source(split, partial(_read, found, flags.encoding), lists, len(found)))
    if {source.split for source in sources} == set(SPLITS):
        left_out += [LeftOut("-", name, "", "in no url list") for name in unused]
    return Preparation(sources, TextRules(resolve(flags.tokenizer), flags.units, flags.abstract_units, True), left_out)


def _urls(lists: list[Path], encoding: str) -> list[str]:
    return [line.strip() for path in lists for line in read_text(path, encoding).split("\n") if line.strip()]


def _read(stories: list[_Story], encoding: str) -> Iterator[RawDocument]:
    for story in stories:
        article, highlights = parse_story(read_text(story.path, encoding))
        yield RawDocument(story.id, article, highlights, story.url)


def parse_story(text: str) -> tuple[list[str], list[str]]:
    """The paragraphs before the first `@highlight`, and those after any `@highlight`."""
    article: list[str] = []
    highlights: list[str] = []
    target = article
    for paragraph in paragraphs(text):
        if paragraph.lower().startswith(_HIGHLIGHT):
            target = highlights
            paragraph = paragraph[len(_HIGHLIGHT) :].strip()
        if paragraph:
            target.append(paragraph)
    return article, highlights
