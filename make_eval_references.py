"""Writes the abstracts as references for evaluation: <data_dir>/refs/<split>/<i>.ref, a sentence per line.

An article whose JSON also has `references`, a list of further abstracts, gets <i>.A.ref, <i>.B.ref ...
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase

from data.articles import Article, article_path, count_articles, named_splits, read_article, split_directory
from metrics.summaries import escape
from support.errors import UserError, run
from support.files import atomic_directory
from support.flags import flag, parse
from support.progress import progress


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA")
    split: str = flag("val,test", "splits, separated by commas")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    for split in named_splits(flags.split):
        print(f"{split}: {write_references(flags.data_dir, split):,} references", flush=True)


def write_references(data_dir: str, split: str) -> int:
    total = count_articles(split_directory(data_dir, split))
    with atomic_directory(Path(data_dir) / "refs" / split) as folder:
        for i in progress(range(total), f"references of {split}", total=total, unit="article"):
            path = article_path(data_dir, split, i)
            abstracts = _abstracts(read_article(path), path)
            for name, abstract in zip(_file_names(i, len(abstracts)), abstracts, strict=True):
                text = escape("\n".join(abstract))
                (folder / name).write_text(text, encoding="utf-8", errors="replace", newline="\n")
    return total


def _abstracts(article: Article, path: Path) -> list[list[str]]:
    further = article.others.get("references", [])
    if not isinstance(further, list) or not all(map(_is_list_of_sentences, further)):
        raise UserError(f"{path}: the field references must be a list of abstracts, each a list of sentences")
    if len(further) >= len(ascii_uppercase):
        raise UserError(f"{path} has {len(further)} further references; at most 25 are possible")
    return [article.abstract, *further]


def _is_list_of_sentences(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(sentence, str) for sentence in value)


def _file_names(i: int, count: int) -> list[str]:
    return [f"{i}.ref"] if count == 1 else [f"{i}.{letter}.ref" for letter in ascii_uppercase[:count]]


if __name__ == "__main__":
    run(main)
