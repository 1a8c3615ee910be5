"""Rows of a data set: checking, counting, labelling, references, stores, the sample."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest.mock import patch

from tiny_data import write_counts, write_split

import make_eval_references
import make_extraction_labels
from data import check, count_words
from data.store import open_store
from fuzz.formats import is_json, is_pickle, never
from fuzz.table import File, Row
from sample import corpus

PAIRS = [
    (["the dam above the town broke .", "nobody was hurt ."], ["dam breaks .", "none hurt ."]),
    (["it rained all day .", "then the sun came out .", "so it goes ."], ["rain , then sun ."]),
    (["a third article , the last ."], ["the last ."]),
]
ARTICLE = File("article", "data/train/1.json", "json", is_json)
COUNTS = File("word counts", "data/vocab_cnt.pkl", "pickle", is_pickle, optional=True)
STORE = "data/.store/train/"
SAMPLE = "--out {}/corpus --train 3 --val 1 --test 1 --workers 1"


def build_data(folder: Path) -> None:
    write_split(folder / "data", "train", PAIRS, labels=True)
    write_split(folder / "data", "val", PAIRS[:1], labels=True)
    write_counts(folder / "data", PAIRS[:2])
    path = folder / "data" / "train" / "1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"references": [["more rain ."], ["sun ."]]}))


def build_store(folder: Path) -> None:
    build_data(folder)
    open_store(folder / "data", "train", workers=1)


def print_store() -> None:
    """Opens a store as training does, and prints all that is in it."""
    store = open_store(sys.argv[1], "train", workers=1)
    for texts in (store.articles, store.abstracts):
        print([[[store.lexicon[word] for word in line] for line in texts.document(d)] for d in range(len(texts))])
    print(store.label_offsets.tolist(), store.labels.tolist())


def build_sample(folder: Path) -> None:
    with patch("sys.argv", ["sample", *SAMPLE.replace("{}", str(folder)).split()]):
        corpus.main()


ROWS = (
    Row("data.check", check.main, "{}/data --workers 1", build_data, (ARTICLE, COUNTS), finds=True),
    Row(
        "data.count_words",
        count_words.main,
        "{}/data --workers 1",
        build_data,
        (ARTICLE, File("word counts", "data/vocab_cnt.pkl", "pickle", never)),
        outputs=("data/vocab_cnt.pkl",),
    ),
    Row(
        "make_extraction_labels",
        make_extraction_labels.main,
        "--data_dir {}/data --workers 1",
        build_data,
        (ARTICLE,),
        outputs=("data/*/*.json",),
    ),
    Row(
        "make_eval_references",
        make_eval_references.main,
        "--data_dir {}/data --split train",
        build_data,
        (ARTICLE,),
        outputs=("data/refs/train/*",),
        own=("data/refs/",),
    ),
    Row(
        "data.store",
        print_store,
        "{}/data",
        build_store,
        (
            ARTICLE,
            COUNTS,
            File("store: meta", STORE + "meta.json", "json", never),
            File("store: own words", STORE + "words.json", "json", never),
            File("store: counted words", "data/.store/lexicon-*.json", "json", never),
            File("store: words", STORE + "article_words.bin", "store", never),
            File("store: offsets", STORE + "article_sentences.bin", "store", never),
            File("store: labels", STORE + "labels.bin", "store", never),
        ),
    ),
    Row(
        "sample",
        corpus.main,
        SAMPLE,
        build_sample,
        (File("sample record", "corpus/sample.json", "json", never),),
        outputs=("corpus/*/*.json", "corpus/manifest.tsv", "corpus/vocab_cnt.pkl"),
        own=("corpus/sample.json",),
    ),
)
