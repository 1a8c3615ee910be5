"""Agreement with ROUGE-1.5.5.pl, document by document and in every printed digit."""

from __future__ import annotations

import subprocess
from random import Random

import numpy as np
import pytest

from metrics import bootstrap, official, rouge, rouge_text
from metrics.summaries import Document
from metrics.wordnet import EXPECTED_PAIRS, exceptions
from support.errors import UserError

LACKING = official.why_unavailable()
needs_perl = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))

PLAIN = [
    "the", "a", "of", "to", "in", "and", "said", "was", "for", "on", "that", "he", "she", "with", "is", "at", "by",
    "police", "government", "running", "ponies", "relational", "conditional", "hopefully", "agreement", "flies",
    "adjustment", "adoption", "replacement", "yellow", "yes", "yearly", "dies", "ties", "caresses", "feed", "b52",
    "agreed", "plastered", "motoring", "sing", "controlling", "rolled", "2015", "don't", "u.s.", "3,000", "$5",
    "new-york", "UPPER", "Case",
]  # fmt: skip
ODD = [
    "café", "naïve", "Straße", "東京", "\u212a", "İstanbul", "\u2028", "\x85", "\r", "\t", "-", "--", "''", "``",
    "&lt;", "&amp;", "<", ">", "<unk>", ".", ",", "!", "?", ";", "_", "a_b", "</a>", "\U0001f600",
]  # fmt: skip


def generated_document(i: int, rng: Random, irregular: list[str]) -> Document:
    def word() -> str:
        return rng.choice(rng.choices([PLAIN, irregular, ODD], weights=[6, 3, 1])[0])

    def sentence() -> str:
        return " ".join(word() for _ in range(rng.randint(0, 25)))

    def shortened(text: str) -> str:
        return " ".join(kept for kept in text.split(" ") if rng.random() < 0.7)

    references = tuple(
        "\n".join(sentence() for _ in range(rng.randint(0, 5))) for _ in range(rng.choice([1, 1, 1, 2, 4]))
    )
    if rng.random() < 0.08:
        return Document(i, rng.choice(["", "\n\n", " ", ". , ! \n - --", "東京"]), references)
    lines = [shortened(line) for line in rng.choice(references).split("\n")]
    lines += [sentence() for _ in range(rng.randint(0, 3))]
    rng.shuffle(lines)
    return Document(i, "\n".join(lines), references)


def generated_documents(count: int, seed: int) -> list[Document]:
    rng, irregular = Random(seed), sorted(exceptions())
    return [generated_document(i, rng, irregular) for i in range(count)]


def assert_equal_to_the_script(documents: list[Document]) -> None:
    expected = official.score(documents)
    scores = rouge.score_documents((document.summary, document.references) for document in documents)
    wrong = np.flatnonzero((scores != expected.scores).any(axis=(1, 2)))
    assert not len(wrong), (documents[wrong[0]], scores[wrong[0]], expected.scores[wrong[0]])
    averages = bootstrap.aggregate(scores, [document.id for document in documents])
    assert rouge_text.report(averages) == expected.text


@needs_perl
def test_1200_generated_documents_score_as_by_the_script():
    documents = generated_documents(1200, seed=0)
    scored = rouge.score_documents((document.summary, document.references) for document in documents)
    assert 0.2 < scored[:, 0, 2].mean() < 0.8  # not all alike
    assert_equal_to_the_script(documents)


@needs_perl
@pytest.mark.parametrize("count", [1, 2, 11, 64])
def test_small_sets_of_any_ids_score_as_by_the_script(count):
    ids = Random(count).sample(range(300), count)
    assert_equal_to_the_script(
        [document._replace(id=i) for i, document in zip(ids, generated_documents(count, count), strict=True)]
    )


@needs_perl
def test_every_irregular_word_is_stemmed_as_by_the_script():
    words = sorted(word for word in exceptions() if word.isalnum())
    documents = []
    for start in range(0, len(words), 100):
        line = words[start : start + 100]
        documents.append(Document(start, " ".join(line), (" ".join(exceptions()[word] for word in line),)))
    assert_equal_to_the_script(documents)


@needs_perl
def test_a_broken_exception_database_is_built_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    documents = [Document(0, "the children went home", ("the child go home",))]
    assert official.score(documents).scores[0, 0, 2] == 1
    (database,) = tmp_path.rglob("WordNet-2.0.exc.db")
    database.unlink()
    make_empty = "tie my %db, 'DB_File', $ARGV[0], O_CREAT|O_RDWR, 0644, $DB_HASH"  # the script would take it
    subprocess.run(["perl", "-MDB_File", "-e", make_empty, str(database)], check=True)
    assert official.score(documents).scores[0, 0, 2] == 1
    assert official._count_keys(database.parent) == EXPECTED_PAIRS


def test_missing_perl_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"needs Perl \(Debian: apt install perl"):
        official.score([Document(0, "a", ("a",))])


def test_perl_without_xml_parser_is_one_line(tmp_path, monkeypatch):
    perl = tmp_path / "perl"
    perl.write_text("#!/bin/sh\nexit 2\n")
    perl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="XML::Parser and DB_File"):
        official.score([Document(0, "a", ("a",))])


@needs_perl
def test_wrong_rouge_variable_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("ROUGE", str(tmp_path))
    with pytest.raises(UserError, match="or unset it"):
        official.score([Document(0, "a", ("a",))])
