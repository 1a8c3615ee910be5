"""Outputs as people release them: every form gives the same texts, documents are paired, bad input is one line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from metrics.outputs import ARTICLES, REFERENCES, Outputs, pair, paired_documents, read_outputs
from support.errors import UserError

TEXTS = ["the cat sat .\nit slept .", "a < b & c", "", "one sentence"]
PARTS = [text.split("\n") if text else [] for text in TEXTS]


def write_lines(path: Path, separator: str) -> Path:
    path.write_text("".join(separator.join(part) + "\n" for part in PARTS), encoding="utf-8")
    return path


def write_folder(path: Path, pattern: str, texts: list[str] = TEXTS, start: int = 0) -> Path:
    path.mkdir(parents=True)
    for i, text in enumerate(texts, start):
        (path / (pattern % i)).write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def write_jsonl(path: Path, items: list) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def texts(outputs: Outputs) -> list[str]:
    assert all(len(found) == 1 for found in outputs.texts)
    return [found[0] for found in outputs.texts]


@pytest.mark.parametrize("separator", ["<q>", " <q> ", "<S_SEP>", " <s_sep> ", "\t"])
def test_a_summary_a_line(tmp_path, separator):
    found = read_outputs(write_lines(tmp_path / "cands.txt", separator))
    assert texts(found) == TEXTS and found.names is None


def test_sentences_in_tags(tmp_path):
    (tmp_path / "a.out").write_text("<t> the cat sat . </t> <t> it slept . </t>\n<s> a < b & c </s>\n\none sentence")
    assert texts(read_outputs(tmp_path / "a.out")) == TEXTS


def test_without_separator_a_line_is_one_sentence(tmp_path):
    (tmp_path / "test.hypo").write_bytes("\ufeffthe cat sat . it slept .\r\nx\r\n".encode())
    assert texts(read_outputs(tmp_path / "test.hypo")) == ["the cat sat . it slept .", "x"]


@pytest.mark.parametrize(
    "pattern",
    ["%06d_decoded.txt", "%d.txt", "%04d.dec", "%d.dec", "decoded.%03d.txt", "cnndm2.%d.summary", "%d_rl2.hyp", "%d"],
)
def test_a_folder_in_any_numbering(tmp_path, pattern):
    folder = write_folder(tmp_path / "decoded_texts", pattern)
    (folder / "rouge.txt").write_text("beside the point")
    (folder / "top3_rouge.txt").write_text("beside the point, too")
    found = read_outputs(folder)
    assert texts(found) == TEXTS and found.names == ["0", "1", "2", "3"]


def test_numbers_are_ordered_as_numbers(tmp_path):
    folder = write_folder(tmp_path / "x", "%d.dec", [str(i) for i in range(12)])
    assert texts(read_outputs(folder)) == [str(i) for i in range(12)]


def test_outputs_and_references_may_lie_in_one_folder(tmp_path):
    write_folder(tmp_path / "x", "%06d_decoded.txt")
    for i in range(4):
        (tmp_path / "x" / f"{i:06d}_reference.txt").write_text("r")
    assert texts(read_outputs(tmp_path / "x")) == TEXTS
    assert texts(read_outputs(tmp_path / "x", REFERENCES)) == ["r"] * 4


def test_below_a_run_the_usual_folders_are_found(tmp_path):
    write_folder(tmp_path / "pg" / "decoded", "%06d_decoded.txt")
    write_folder(tmp_path / "pg" / "output_top3", "%d.dec", ["other"] * 4)
    write_folder(tmp_path / "pg" / "reference", "%06d_reference.txt", ["r"] * 4)
    write_folder(tmp_path / "ours" / "output", "%d.dec")
    write_folder(tmp_path / "baseline" / "output_top3", "%d.dec")
    for name in ("pg", "ours", "baseline"):
        assert texts(read_outputs(tmp_path / name)) == TEXTS
    assert texts(read_outputs(tmp_path / "pg", REFERENCES)) == ["r"] * 4


@pytest.mark.parametrize("pattern", ["{}.{}.ref", "{}.{}.0001.txt", "news.{1}.{0:03d}.txt", "{1}.{0}.ref"])
def test_several_references_in_files(tmp_path, pattern):
    for i, letter in ((0, "A"), (0, "B"), (1, "A")):
        (tmp_path / pattern.format(i, letter)).write_text(f"{i}{letter}")
    assert read_outputs(tmp_path, REFERENCES).texts == [("0A", "0B"), ("1A",)]


def test_escapes_are_undone_and_done_for_scoring(tmp_path):
    (tmp_path / "a.txt").write_text("a &lt; b &amp; c &#39;s AT&T &copy\n")
    assert texts(read_outputs(tmp_path / "a.txt")) == ["a < b & c 's AT&T &copy"]
    (document,) = paired_documents(read_outputs(tmp_path / "a.txt"), read_outputs(tmp_path / "a.txt", REFERENCES))
    assert document == (0, "a &lt; b & c 's AT&T &copy", ("a &lt; b & c 's AT&T &copy",))


FORMS = {
    "text": lambda part: "\n".join(part),
    "separators": lambda part: " <q> ".join(part),
    "sentences": lambda part: part,
    "words": lambda part: [sentence.split() for sentence in part],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("field", ["decoded", "summary", "prediction", "hyp"])
def test_json_lines_with_guessed_fields(tmp_path, form, field):
    items = [{"id": f"doc-{i}", "reference": "gold", field: form(part)} for i, part in enumerate(PARTS)]
    found = read_outputs(write_jsonl(tmp_path / "a.jsonl", items))
    assert texts(found) == TEXTS and found.names == ["doc-0", "doc-1", "doc-2", "doc-3"]
    assert texts(read_outputs(tmp_path / "a.jsonl", REFERENCES)) == ["gold"] * 4


def test_json_lines_with_a_named_field_and_any_suffix(tmp_path):
    path = write_jsonl(tmp_path / "a.txt", [{"mine": text} for text in TEXTS])
    assert texts(read_outputs(path, field="mine")) == TEXTS


def test_json_as_list_as_columns_and_by_id(tmp_path):
    path = tmp_path / "a.json"
    for value in (TEXTS, {"decoded": TEXTS, "gold": TEXTS}, [{"output": text} for text in TEXTS]):
        assert texts(read_outputs(write_json(path, value))) == TEXTS
    found = read_outputs(write_json(path, {"x": TEXTS[0], "y": TEXTS[1]}))
    assert texts(found) == TEXTS[:2] and found.names == ["x", "y"]


def test_several_references_in_json(tmp_path):
    items = [{"references": ["a", "b"]}, {"references": [["c", "d"], ["e"]]}, {"references": []}]
    path = write_jsonl(tmp_path / "a.jsonl", items)
    assert read_outputs(path, REFERENCES).texts == [("a", "b"), ("c\nd", "e"), ("",)]


def test_a_split_of_this_project_gives_articles_and_references(golden):
    articles = read_outputs(golden / "data" / "test", ARTICLES)
    references = read_outputs(golden / "data" / "test", REFERENCES)
    value = json.loads((golden / "data" / "test" / "11.json").read_text())
    assert articles.names is not None and articles.names[11] == "11"
    assert articles.texts[11] == ("\n".join(value["article"]),)
    assert references.texts[11] == ("\n".join(value["abstract"]),)


def test_half_a_surrogate_pair_becomes_a_question_mark(tmp_path):
    assert texts(read_outputs(write_json(tmp_path / "a.json", ["a \ud800 b"]))) == ["a ? b"]


# --- pairing


def outputs(names: list[str] | None, count: int | None = None) -> Outputs:
    return Outputs(Path("x"), [(name,) for name in names or map(str, range(count or 0))], names)


def test_documents_are_paired_by_name():
    documents = paired_documents(outputs(["b", "a"]), outputs(["a", "b"]))
    assert [(d.id, d.summary, d.references) for d in documents] == [(0, "a", ("a",)), (1, "b", ("b",))]
    assert [d.id for d in paired_documents(outputs(["7", "3"]), outputs(["3", "7"]))] == [3, 7]


def test_without_names_documents_are_paired_in_order():
    assert pair(outputs(None, 2), outputs(["5", "9"])) == ([0, 1], "")


@pytest.mark.parametrize(("ours", "theirs"), [(["1", "2"], ["0", "1"]), (["ab", "cd"], ["0", "1"])])
def test_pairing_in_order_is_told_where_names_differ(ours, theirs):
    found = pair(outputs(ours), outputs(theirs))
    assert found.places == [0, 1] and f"begins with {ours[0]}" in found.note and "paired in order" in found.note


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        (outputs(["0", "1"]), outputs(["0", "1", "2"]), "x has nothing for 2, which x has"),
        (outputs(["0", "1", "5"]), outputs(["0", "1", "2"]), "x has nothing for 2"),
        (outputs(["0", "1", "5"]), outputs(["0", "1"]), "x has nothing for 5"),
        (outputs(None, 3), outputs(None, 2), "x has 3 documents and x 2"),
    ],
)
def test_documents_without_partner_are_told(ours, theirs, message):
    with pytest.raises(UserError, match=message):
        pair(ours, theirs)


# --- bad input


def put(name: str, content: bytes):
    return lambda folder: (folder / name).write_bytes(content)


def files(*names: str):
    return lambda folder: [(folder / name).write_text(name) for name in names]


BAD = {
    "missing": ("a.txt", lambda folder: None, "a.txt does not exist"),
    "fifo": ("a.txt", lambda folder: os.mkfifo(folder / "a.txt"), "a.txt is not a file"),
    "empty": ("a.txt", put("a.txt", b""), "a.txt is empty"),
    "binary": ("a.txt", put("a.txt", b"\x89PNG\0\xff"), "a.txt is not a text file in UTF-8"),
    "wrong encoding": ("a.txt", put("a.txt", "é".encode("latin-1")), "a.txt is not a text file in UTF-8"),
    "cut jsonl": ("a.jsonl", put("a.jsonl", b'{"summary": "x"}\n{"summ'), "a.jsonl, line 2 is not readable JSON"),
    "nested": ("a.jsonl", put("a.jsonl", b"[" * 100_000), "a.jsonl, line 1 is not readable JSON"),
    "huge number": ("a.json", put("a.json", b"1" * 5000), "a.json is not readable JSON"),
    "empty json": ("a.json", put("a.json", b"[]"), "a.json is empty"),
    "number": ("a.json", put("a.json", b"[3]"), "a.json, item 0: the value is neither a text nor"),
    "null": ("a.jsonl", put("a.jsonl", b'{"summary": null}'), "a.jsonl, item 0: summary is neither a text nor"),
    "mixed": ("a.json", put("a.json", b'["a", {"summary": "b"}]'), "a.json mixes objects with other values"),
    "unknown field": ("a.jsonl", put("a.jsonl", b'{"foo": 1, "bar": 2}'), "a.jsonl has the fields foo, bar: say"),
    "field lost": ("a.jsonl", put("a.jsonl", b'{"hyp": "a"}\n{"id": 1}'), "a.jsonl, item 1 has no field hyp; it has"),
    "no numbers": (".", put("abc.txt", b"x"), "holds no numbered file such as 0.txt, 000000_dec.txt or 0.dec"),
    "not an object": (".", put("0.json", b"[]"), "0.json holds no JSON object"),
    "two letters": (".", files("0.A.dec", "0.B.dec"), "document 0 has several texts"),
    "two paddings": (".", files("1.dec", "01.dec"), "both 01.dec and 1.dec"),
    "two numbers": (".", files("1_2.txt", "2_3.txt"), "which number of 2_3.txt is"),
    "two namings": (".", files("a1.txt", "a2.txt", "b1.txt", "b2.txt"), "names files in several ways (a1.txt, b1.txt)"),
    "a folder": (".", lambda folder: (folder / "0.dec").mkdir(), "0.dec is not a file"),
    "two tops": (
        ".",
        lambda folder: [write_folder(folder / f"output_top{n}", "%d.dec") for n in (2, 3)],
        "output_top2 and output_top3: name one",
    ),
}


@pytest.mark.parametrize(("name", "make", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(tmp_path, name, make, message):
    make(tmp_path)
    with pytest.raises(UserError) as error:
        read_outputs(tmp_path / name)
    assert message in str(error.value) and str(tmp_path) in str(error.value)


def test_further_references_in_articles_point_to_the_script(tmp_path):
    write_json(tmp_path / "0.json", {"article": ["a"], "abstract": ["b"], "references": [["c"]]})
    with pytest.raises(UserError, match=r"make_eval_references\.py"):
        read_outputs(tmp_path, REFERENCES)
