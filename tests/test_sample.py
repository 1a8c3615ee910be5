"""The sample corpus: its bytes depend on the seed alone, and it has the structure that the paper exploits."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from data.articles import read_article
from data.labels import proxy_labels
from data.vocabulary import load_word_counts
from report.corpus import corpus_report
from sample import library as newswire
from sample.article import compose
from sample.cast import Cast, Reporter
from sample.corpus import VOCABULARY_SIZE, Recipe, generator_digest, sample_article, write_sample
from sample.grammar import expand, parse, tidy
from sample.names import place
from support.errors import UserError

ROOT = Path(__file__).parents[1]
SMALL = Recipe(seed=0, train=30, val=4, test=5, generator=generator_digest())


def run_sample(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-m", "sample", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def articles() -> list:
    return [compose(Random(f"test {i}")) for i in range(300)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("sample") / "data"
    write_sample(out, SMALL._replace(train=1500, test=100), workers=2)
    return out


# what is written


def test_bytes_depend_neither_on_workers_nor_on_hash_seed(tmp_path):
    sizes = ["--train", "450", "--val", "3", "--test", "3"]
    for name, workers in (("a", "1"), ("b", "3")):
        done = run_sample("--out", str(tmp_path / name), *sizes, "--workers", workers, PYTHONHASHSEED=workers)
        assert done.returncode == 0, done.stderr
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_article_depends_on_seed_split_and_index_alone(tmp_path):
    write_sample(tmp_path / "a", SMALL)
    write_sample(tmp_path / "b", SMALL._replace(train=7, val=9))
    for split, index in (("train", 6), ("val", 3), ("test", 4)):
        one, other = (tmp_path / name / split / f"{index}.json" for name in "ab")
        assert one.read_bytes() == other.read_bytes()
        assert read_article(one) == sample_article(0, split, index)
    assert sample_article(0, "train", 1).article != sample_article(1, "train", 1).article
    assert sample_article(0, "train", 1).article != sample_article(0, "val", 1).article


def test_layout_is_that_of_the_real_data(corpus):
    text = (corpus / "test" / "0.json").read_text()
    value = json.loads(text)
    assert list(value) == ["id", "article", "abstract"]
    assert text == json.dumps(value, indent=4)
    rows = [line.split("\t") for line in (corpus / "manifest.tsv").read_text().splitlines()]
    assert len(rows) == 1500 + 4 + 100
    for split, index, name in rows[::97]:
        assert read_article(corpus / split / f"{index}.json").id == name
    train = [read_article(corpus / "train" / f"{i}.json") for i in range(1500)]
    words = [word for a in train for sentence in a.article + a.abstract for word in sentence.split()]
    assert load_word_counts(corpus).total() == len(words)


def test_running_again_changes_nothing_even_after_labelling(tmp_path):
    assert write_sample(tmp_path / "d", SMALL)
    labelled = tmp_path / "d" / "train" / "0.json"
    labelled.write_text(json.dumps({**json.loads(labelled.read_text()), "extracted": [0], "score": [1.0]}))
    before = digests(tmp_path)
    assert not write_sample(tmp_path / "d", SMALL)
    assert digests(tmp_path) == before


@pytest.mark.parametrize("change", [{"seed": 1}, {"train": 31}, {"generator": "older"}])
def test_another_corpus_in_the_way_is_refused_in_one_line(tmp_path, change):
    write_sample(tmp_path / "d", SMALL)
    before = digests(tmp_path)
    with pytest.raises(UserError, match="--force"):
        write_sample(tmp_path / "d", SMALL._replace(**change))
    assert digests(tmp_path) == before


def test_foreign_files_are_refused_and_survive_force(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    done = run_sample("--out", str(tmp_path), "--train", "2", "--val", "1", "--test", "1")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["thesis.tex"]
    write_sample(tmp_path, SMALL._replace(seed=5), force=True)
    write_sample(tmp_path, SMALL, force=True)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    assert not write_sample(tmp_path, SMALL)


def test_a_corpus_that_lost_a_file_is_not_taken_for_whole(tmp_path):
    write_sample(tmp_path / "d", SMALL)
    (tmp_path / "d" / "val" / "3.json").unlink()
    with pytest.raises(UserError):
        write_sample(tmp_path / "d", SMALL)


def test_a_file_in_the_way_is_one_clear_line(tmp_path):
    (tmp_path / "d").write_text("")
    for force in (False, True):
        with pytest.raises(UserError):
            write_sample(tmp_path / "d", SMALL, force=force)
    assert (tmp_path / "d").read_text() == ""


def test_an_interrupted_run_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sample.corpus.write_word_counts", fail)
    with pytest.raises(KeyboardInterrupt):
        write_sample(tmp_path / "d", SMALL)
    assert os.listdir(tmp_path) == []


# what the articles are like


def test_sizes_are_those_of_short_news(articles):
    for article in articles:
        assert 12 <= len(article.sentences) <= 30
        assert 2 <= len(article.highlights) <= 6
        assert all(8 <= len(sentence.split()) <= 48 for sentence in article.sentences)
        assert all(6 <= len(highlight.split()) <= 22 for highlight in article.highlights)
    assert {len(article.highlights) for article in articles} == {2, 3, 4, 5, 6}


def test_text_follows_the_treebank_conventions(articles):
    for article in articles:
        for sentence in article.sentences + article.highlights:
            assert sentence == " ".join(sentence.lower().split())
            assert sentence.endswith(" .")
            assert not re.search(r'[{}()|"+]| , [,.]|^,|\w\'s', sentence), sentence
            assert sentence.count("``") == sentence.count("''")
            assert sentence.count("-lrb-") == sentence.count("-rrb-")


def test_each_highlight_rewrites_one_sentence_that_labels_nearly_always_find(articles):
    found = total = 0
    for article in articles:
        assert len(set(article.sources)) == len(article.sources) == len(article.highlights)
        assert not set(article.highlights) & set(article.sentences)
        labels = proxy_labels(article.sentences, article.highlights).extracted
        found += sum(label == source for label, source in zip(labels, article.sources, strict=True))
        total += len(labels)
    assert found / total > 0.93


def test_order_of_highlights_is_mostly_but_not_always_that_of_the_article(articles):
    in_order = sum(article.sources == sorted(article.sources) for article in articles) / len(articles)
    assert 0.65 < in_order < 0.9


def test_names_and_numbers_of_a_highlight_come_from_its_sentence(articles):
    for article in articles:
        for highlight, source in zip(article.highlights, article.sources, strict=True):
            numbers = re.findall(r"\S*\d\S*", highlight)
            assert set(numbers) <= set(article.sentences[source].split()), (highlight, article.sentences[source])


def test_report_shows_a_strong_lead_a_better_oracle_and_unknown_words(corpus):
    rows = dict(corpus_report(str(corpus), "test", VOCABULARY_SIZE))
    lead, oracle = (float(rows[f"{name} R-1 / R-2 / R-L"].split()[0]) for name in ("lead-3", "oracle"))
    assert 30 < lead < 42
    assert oracle > lead + 15
    assert float(rows["summary words outside the 2,500 most frequent"].rstrip("%")) >= 8
    assert 8 <= float(rows["novel 1-grams of summaries"].rstrip("%")) <= 12.5
    assert float(rows["repeated 2-grams of summaries"].rstrip("%")) < 2


def test_report_by_hand(tmp_path):
    write_sample(tmp_path / "d", SMALL)
    article = {"id": "x", "article": ["a b c d", "e f", "g h", "e e"], "abstract": ["e new"]}
    for index in range(5):
        (tmp_path / "d" / "test" / f"{index}.json").write_text(json.dumps(article))
    rows = dict(corpus_report(str(tmp_path / "d"), "test", 10, limit=2))
    assert rows["articles"] == "2 of 5 in test"
    assert rows["lead-3 R-1 / R-2 / R-L"] == "20.00 / 0.00 / 20.00"
    assert rows["oracle R-1 / R-2 / R-L"] == "50.00 / 0.00 / 50.00"
    assert rows["novel 1-grams of summaries"] == "50.0%"
    assert rows["oracle sentences at position p, per article"] == "1: 1.00"


# the language


def test_every_template_can_be_written():
    texts = newswire.library()
    for story in texts.stories + texts.minor + texts.general:
        templates = story.detail + story.past + story.quote + [t for key in story.keys for t in key.tell + key.sum]
        for template in templates:
            rng = Random(story.name)
            text = Reporter(rng).say(template, Cast(texts, rng, place(rng)))
            assert not re.search(r"[{}()|+]", text), text


def test_the_documented_story_can_be_added(tmp_path):
    documentation = (ROOT / "sample" / "__init__.py").read_text()
    (story,) = re.findall(r"    story wedding\n(?:    .+\n)+", documentation)
    story = story.replace("\n    ", "\n").strip()
    folder = copy_texts(tmp_path, story)
    wedding = newswire.read_library(folder).stories[-1]
    assert wedding.name == "wedding" and len(wedding.keys) == 2 and not wedding.urgent
    rng = Random(0)
    cast = Cast(newswire.read_library(folder), rng, place(rng))
    assert Reporter(rng).say(wedding.keys[1].tell[0], cast).startswith("the cake , which weighed ")


@pytest.mark.parametrize(
    ("mistake", "complaint"),
    [
        ("story s\nkey\ntell a {unheard}\nsum b .\ndetail c\nquote d", r"stories.txt:\d+: .*\{unheard\}"),
        ("story s\nkey\ntell a\nsum {person} .\ndetail c\nquote d", r"stories.txt:\d+: a sum line uses .*person"),
        ("story s\nkey\ntell a\ndetail c\nquote d", r"stories.txt:\d+: story s needs keys"),
        ("story s\nkey\ntell a (b|c\nsum b .\ndetail c\nquote d", r"stories.txt:\d+: unbalanced parentheses"),
        ("story s\nkey\ntell a {b\nsum b .\ndetail c\nquote d", r"stories.txt:\d+: unbalanced braces"),
        ("story s\nwhisper a", r"stories.txt:\d+: 'whisper'"),
    ],
)
def test_mistakes_in_the_texts_are_reported_with_their_place(tmp_path, mistake, complaint):
    with pytest.raises(UserError, match=complaint):
        newswire.read_library(copy_texts(tmp_path, mistake))


def copy_texts(folder: Path, addition: str) -> Path:
    for path in newswire.FOLDER.glob("*.txt"):
        shutil.copy(path, folder)
    with open(folder / "stories.txt", "a") as file:
        file.write(f"\n{addition}\n")
    return folder


def test_template_choices_nest_and_leave_no_stray_comma():
    seen = {tidy(expand(parse("x (a|b (c|{slot})) , (|,) ."), Random(i), str.upper)) for i in range(40)}
    assert seen == {"x a .", "x b c .", "x b SLOT ."}
