"""Every input format becomes the same layout."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest
from raw_inputs import DUC, STORY, parquet, prepare, sha1, story_flags, write, write_stories

from data.prepare.stories import parse_story
from data.prepare.text_rules import end_with_stop
from data.vocabulary import load_word_counts
from make_eval_references import write_references
from support.errors import UserError


@pytest.fixture
def stories(tmp_path) -> Path:
    return write_stories(tmp_path)


def article(out: Path, split: str = "test", index: int = 0) -> dict:
    return json.loads((out / split / f"{index}.json").read_text(encoding="ascii"))


def manifest(out: Path) -> list[list[str]]:
    return [line.split("\t") for line in (out / "manifest.tsv").read_text().splitlines()]


# --- .story files ---


def test_stories_follow_the_released_text_rules_in_the_order_of_the_url_list(stories):
    prepare("stories", stories / "out", *story_flags(stories))
    first = article(stories / "out", "val")
    assert first["article"] == ["-lrb- post -rrb- -- the dam 2 broke .", "nobody was hurt ."]
    assert first["abstract"] == ["dam breaks .", "no one 's hurt ."]
    assert first["id"] == sha1("http://post.example/val/2")
    assert set(first) == {"id", "article", "abstract"}


def test_manifest_maps_every_index_to_story_and_url(stories):
    prepare("stories", stories / "out", *story_flags(stories))
    header, *rows = manifest(stories / "out")
    assert header == ["split", "index", "id", "url"]
    assert [row[:2] for row in rows] == [[s, i] for s in ("train", "val", "test") for i in ("0", "1")]
    assert all(sha1(url) == name for _, _, name, url in rows)


def test_word_counts_come_with_the_training_split_alone(stories):
    prepare("stories", stories / "out", *story_flags(stories))
    counts = load_word_counts(stories / "out")
    assert counts["dam"] == 4 and counts["n't"] == 0 and counts["'s"] == 2


def test_urls_without_story_and_stories_in_no_list_are_reported(stories, capsys):
    write(stories / "raw" / "stray.story", STORY)
    with (stories / "urls" / "all_val.txt").open("a") as file:
        file.write("http://post.example/lost\n")
    prepare("stories", stories / "out", *story_flags(stories))
    assert len(list((stories / "out" / "val").iterdir())) == 2
    table = (stories / "out" / "left_out.tsv").read_text()
    assert "http://post.example/lost\tno story of this url" in table and "stray\t\tin no url list" in table
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note")]
    assert len(notes) == 2 and "http://post.example/lost" in "".join(notes)


def test_single_url_lists_can_be_named(stories):
    prepare(
        "stories", stories / "out", "--stories", stories / "raw", "--test", stories / "urls" / "all_test.txt"
    )
    assert sorted(path.name for path in (stories / "out").iterdir()) == [
        "manifest.tsv",
        "prepared.json",
        "test",
    ]


def test_an_empty_story_keeps_its_index_and_is_noted(stories, capsys):
    write(stories / "raw" / "site2" / f"{sha1('http://post.example/test/2')}.story", "")
    prepare("stories", stories / "out", *story_flags(stories))
    assert article(stories / "out")["article"] == article(stories / "out")["abstract"] == []
    assert article(stories / "out", index=1)["article"]
    assert "1 of them have no text (0.json)" in capsys.readouterr().out


def test_story_paragraphs_are_parted_by_blank_lines_only():
    text = "One\ntwo.\n \t\nThree.\n\n@highlight\n\nA\n\n@highlight\nB\n\nC"
    assert parse_story(text) == (["One two.", "Three."], ["A", "B", "C"])


@pytest.mark.parametrize("end", [".", "!", "?", "'", "`", '"', ")", "’", "”", "..."])
def test_a_line_with_end_punctuation_stays(end):
    assert end_with_stop(f"word {end}") == f"word {end}"


@pytest.mark.parametrize("end", ["word", "-rrb-", ":", ","])
def test_a_line_without_end_punctuation_gets_a_full_stop(end):
    assert end_with_stop(end) == f"{end} ."


def test_units_sentences_splits_story_lines(stories):
    url = "http://post.example/test/2"
    write(
        stories / "raw" / "site2" / f"{sha1(url)}.story", "It rained. It stopped.\n\n@highlight\n\nRain. Sun"
    )
    prepare("stories", stories / "out", *story_flags(stories), "--units", "sentences")
    assert article(stories / "out")["article"] == ["it rained .", "it stopped ."]
    assert article(stories / "out")["abstract"] == ["rain . sun ."]


# --- hub files ---


def test_hub_parquet_shards_are_split_by_name_and_into_sentences(tmp_path):
    text = "It rained. Mr. Fox didn't mind."
    parquet(tmp_path / "train-00001-of-00002.parquet", article=["B."], highlights=["b"], id=["two"])
    parquet(
        tmp_path / "train-00000-of-00002.parquet", article=[text], highlights=["Rain .\nFox fine"], id=["one"]
    )
    parquet(tmp_path / "validation-00000-of-00001.parquet", article=["V."], highlights=[None], id=["three"])
    prepare("hub", tmp_path / "out", "--source", tmp_path)
    assert article(tmp_path / "out", "train")["article"] == ["it rained .", "mr. fox did n't mind ."]
    assert article(tmp_path / "out", "train")["abstract"] == ["rain .", "fox fine ."]
    assert [row[:3] for row in manifest(tmp_path / "out")[1:]] == [
        ["train", "0", "one"], ["train", "1", "two"], ["val", "0", "three"],
    ]  # fmt: skip
    assert article(tmp_path / "out", "val")["abstract"] == []


def test_hub_jsonl_with_other_column_names(tmp_path):
    row = json.dumps({"document": "It rained.", "summary": "Rain"})
    with gzip.open(tmp_path / "news.test.jsonl.gz", "wt") as file:
        file.write(row + "\n\n" + row + "\n")
    prepare("hub", tmp_path / "out", "--source", tmp_path, "--columns", "document,summary")
    assert article(tmp_path / "out", index=1) == {
        "id": "news.test.jsonl.gz:3", "article": ["it rained ."], "abstract": ["rain ."],
    }  # fmt: skip


def test_hub_follows_lines_where_a_text_has_them(tmp_path):
    texts = ["It rained. It stopped.\nThen sun", "It rained. It stopped."]
    rows = [json.dumps({"article": text, "highlights": "Rain"}) for text in texts]
    source = write(tmp_path / "test.jsonl", "\n".join(rows))
    prepare("hub", tmp_path / "out", "--test", source)
    assert article(tmp_path / "out")["article"] == ["it rained . it stopped .", "then sun ."]
    assert article(tmp_path / "out", index=1)["article"] == ["it rained .", "it stopped ."]
    prepare("hub", tmp_path / "sentences", "--test", source, "--units", "sentences")
    assert article(tmp_path / "sentences")["article"] == ["it rained .", "it stopped .", "then sun ."]


def test_a_sentence_in_brackets_gets_no_second_stop_inside_a_paragraph(tmp_path):
    text = "It rained. (Nobody minded.) It stopped (at last)"
    source = write(tmp_path / "test.jsonl", json.dumps({"article": text, "highlights": "Rain"}))
    prepare("hub", tmp_path / "out", "--test", source)
    expected = ["it rained .", "-lrb- nobody minded . -rrb-", "it stopped -lrb- at last -rrb- ."]
    assert article(tmp_path / "out")["article"] == expected


@pytest.mark.parametrize("format", ["hub", "jsonl"])
def test_a_summary_in_one_string_can_be_split(tmp_path, format):
    source = write(tmp_path / "test.jsonl", json.dumps({"article": "it rained .", "highlights": "rain . no sun ."}))
    prepare(format, tmp_path / "one", "--test", source)
    assert article(tmp_path / "one")["abstract"] == ["rain . no sun ."]
    prepare(format, tmp_path / "two", "--test", source, "--abstract_units", "sentences")
    assert article(tmp_path / "two")["abstract"] == ["rain .", "no sun ."]
    with pytest.raises(UserError, match="--force"):
        prepare(format, tmp_path / "one", "--test", source, "--abstract_units", "sentences")


# --- sentence lists ---


@pytest.mark.parametrize("text", ["It rained. It stopped.", ["It rained.", "It stopped."]])
@pytest.mark.parametrize("more", [[], [["It rained (at last.)", "A headline", "“It stopped.”", "Nobody minded, then"]]])
def test_jsonl_with_raw_text_points_to_hub(tmp_path, text, more):
    rows = [json.dumps({"article": article, "abstract": ["Rain."]}) for article in (text, *more)]
    source = write(tmp_path / "test.jsonl", "\n".join(rows))
    with pytest.raises(UserError, match=r"test\.jsonl looks like raw text.*data\.prepare hub"):
        prepare("jsonl", tmp_path / "out", "--test", source)
    assert not (tmp_path / "out" / "test").exists()
    prepare("jsonl", tmp_path / "out", "--test", source, "--tokenizer", "python", "--units", "sentences")
    assert article(tmp_path / "out")["article"] == ["it rained .", "it stopped ."]


def test_half_characters_reach_the_articles_and_not_the_tables(tmp_path):
    source = write(tmp_path / "test.jsonl", '{"id": "\\ud800", "article": ["a \\udfff ."], "abstract": []}')
    prepare("jsonl", tmp_path / "out", "--test", source)
    assert article(tmp_path / "out") == {"id": "\ud800", "article": ["a \udfff ."], "abstract": []}
    assert manifest(tmp_path / "out")[1] == ["test", "0", "?", ""]


def test_jsonl_keeps_tokens_and_takes_packed_files(tmp_path):
    row = {
        "id": "val-7",
        "index": 7,
        "article": ["A  dam broke -rrb-", "by ."],
        "abstract": ["dam !"],
        "url": "u",
    }
    with lzma.open(tmp_path / "val.jsonl.xz", "wt") as file:
        file.write(json.dumps(row) + "\n")
    prepare("jsonl", tmp_path / "out", "--source", tmp_path)
    assert article(tmp_path / "out", "val")["article"] == ["a dam broke -rrb-", "by ."]
    assert manifest(tmp_path / "out")[1] == ["val", "0", "val-7", "u"]


def test_jsonl_equals_the_shared_articles(shared, tmp_path):
    with lzma.open(shared / "cnndm" / "val.jsonl.xz", "rt") as file:
        rows = [json.loads(next(file)) for _ in range(50)]
    write(tmp_path / "val.jsonl", "\n".join(map(json.dumps, rows)))
    prepare("jsonl", tmp_path / "out", "--source", tmp_path / "val.jsonl")
    for index, row in enumerate(rows):
        assert article(tmp_path / "out", "val", index) == {
            key: row[key] for key in ("id", "article", "abstract")
        }


# --- anonymized ---


def question(url: str, text: str, answer: str, table: str = "@entity0:Fox\n@entity1:Lund") -> str:
    context = '@entity0 ran . " go ! " said @entity1 . no one else spoke'
    return f"{url}\n\n{context}\n\n{text}\n\n{answer}\n\n{table}\n"


def test_questions_of_a_story_become_one_document(tmp_path):
    folder = tmp_path / "questions" / "validation"
    write(folder / "1.question", question("u1", "@placeholder ran from @entity1", "@entity0"))
    write(folder / "2.question", question("u2", "@placeholder slept", "@entity1"))
    write(folder / "3.question", question("u1", "@entity0 ran from @placeholder", "@entity1"))
    write(
        folder / "4.question", question("u1", "@placeholder spoke", "@entity7", "@entity7:Lund\n@entity8:Fox")
    )
    prepare("anonymized", tmp_path / "out", "--source", tmp_path / "questions")
    first = article(tmp_path / "out", "val")
    assert first["article"] == ["@entity0 ran .", '" go ! "', "said @entity1 .", "no one else spoke ."]
    assert first["abstract"] == ["@entity0 ran from @entity1 .", "@entity1 spoke ."]
    assert [row[3] for row in manifest(tmp_path / "out")[1:]] == ["u1", "u2"]


def test_anonymized_jsonl(tmp_path):
    row = {"id": "a", "article": "@entity0 ran . stop", "highlights": "@entity0 ran"}
    write(tmp_path / "test.jsonl", json.dumps(row))
    prepare("anonymized", tmp_path / "out", "--source", tmp_path)
    assert article(tmp_path / "out")["article"] == ["@entity0 ran .", "stop ."]


# --- DUC ---


def test_duc_keeps_every_reference(tmp_path):
    write(tmp_path / "docs" / "d061" / "AP-1", DUC)
    write(tmp_path / "docs" / "d062" / "AP-1", DUC)
    marked = '<s num="1">One. Two</s><s>B</s>'
    write(tmp_path / "docs" / "d062" / "AP-2.S", f"<DOC><DOCNO>AP-2</DOCNO><TEXT>{marked}</TEXT></DOC>")
    write(tmp_path / "docs" / "AP-3", "<DOC><DOCNO>AP-3</DOCNO><TEXT>x</TEXT></DOC>")
    sums = '<SUM\nDOCSET="d061" TYPE="PERDOC" DOCREF="AP-1" SUMMARIZER="A">\nDam broke. It\nrained.</SUM>'
    sums += '<SUM DOCREF="AP-1" SUMMARIZER="B">Rain</SUM><SUM DOCREF="AP-1 AP-2">many</SUM>'
    sums += '<SUM DOCREF="AP-9">x</SUM>'
    write(tmp_path / "abs" / "d061ja" / "perdocs", sums)
    write(tmp_path / "abs" / "AP-2.A.txt", "Two things.")
    prepare("duc", tmp_path / "out", "--documents", tmp_path / "docs", "--abstracts", tmp_path / "abs")
    found = {row["id"]: row for row in (article(tmp_path / "out", index=index) for index in (0, 1))}
    assert found["AP-1"]["article"] == ["the dam broke .", "nobody & all .", "then rain ."]
    assert found["AP-1"]["abstract"] == ["dam broke .", "it rained ."]
    assert found["AP-1"]["references"] == [["rain ."]]
    assert found["AP-2"]["article"] == ["one .", "two .", "b ."]
    assert found["AP-2"]["abstract"] == ["two things ."] and "references" not in found["AP-2"]
    write_references(str(tmp_path / "out"), "test")
    names = sorted(path.name for path in (tmp_path / "out" / "refs" / "test").iterdir())
    assert names in (["0.A.ref", "0.B.ref", "1.ref"], ["0.ref", "1.A.ref", "1.B.ref"])
    left_out = (tmp_path / "out" / "left_out.tsv").read_text()
    assert "AP-3\t\tno reference\n" in left_out and "AP-9\t\tno such document\n" in left_out


def test_duc_with_sentence_breaks_where_the_number_is_a_sentence_too(tmp_path):
    def marked(number: int, text: str) -> str:
        return f'<s docid="AP-1" num="{number}" wdcount="1"> {text}</s>\n'

    text = marked(3, "The dam broke.") + marked(4, "It rained &amp; rained.")
    head = f"<DOCNO>\n{marked(1, 'AP-1')}</DOCNO>\n<HEAD>{marked(2, 'no')}</HEAD>\n"
    document = f"<DOC>\n{head}<TEXT>\n{text}</TEXT></DOC>"
    write(tmp_path / "docs.with.sentence.breaks" / "d061j" / "AP-1.S", document)
    write(tmp_path / "abs" / "perdocs", '<SUM DOCREF="AP-1">Dam broke.</SUM>')
    folders = ["--documents", tmp_path / "docs.with.sentence.breaks", "--abstracts", tmp_path / "abs"]
    prepare("duc", tmp_path / "out", *folders)
    found = article(tmp_path / "out")
    assert found["id"] == "AP-1" and found["article"] == ["the dam broke .", "it rained & rained ."]


def test_duc_units_lines_trusts_sentence_tags(tmp_path):
    write(tmp_path / "AP-2.S", "<DOC><DOCNO>AP-2</DOCNO><TEXT><s>One. Two</s></TEXT></DOC>")
    write(tmp_path / "AP-2.A", "Sum")
    prepare("duc", tmp_path / "out", "--documents", tmp_path, "--abstracts", tmp_path, "--units", "lines")
    assert article(tmp_path / "out")["article"] == ["one . two ."]


# --- plain text ---


def test_txt_pairs_in_natural_order(tmp_path):
    for name in ("10", "9"):
        write(tmp_path / "in" / f"{name}.txt", f"Title {name}\n\nIt rained\nall day. Then sun.")
        write(tmp_path / "in" / f"{name}.summary.txt", "Rain. Sun.")
    write(tmp_path / "in" / "odd.txt", "no summary")
    prepare("txt", tmp_path / "out", "--source", tmp_path / "in", "--split", "train")
    first = article(tmp_path / "out", "train")
    assert first["article"] == ["title 9 .", "it rained all day .", "then sun ."]
    assert first["abstract"] == ["rain .", "sun ."]
    assert "odd\t\tno summary" in (tmp_path / "out" / "left_out.tsv").read_text()
    assert load_word_counts(tmp_path / "out")["rained"] == 2


def test_txt_summaries_in_a_second_folder_and_none_at_all(tmp_path):
    write(tmp_path / "texts" / "a.txt", "It rained.")
    write(tmp_path / "sums" / "a.txt", "Rain.")
    prepare("txt", tmp_path / "out", "--source", tmp_path / "texts", "--summaries", tmp_path / "sums")
    assert article(tmp_path / "out")["abstract"] == ["rain ."]
    prepare("txt", tmp_path / "bare", "--source", tmp_path / "texts")
    assert article(tmp_path / "bare")["abstract"] == []


def test_splits_prepared_one_by_one_share_the_manifest(tmp_path):
    write(tmp_path / "texts" / "a.txt", "It rained.")
    write(tmp_path / "texts" / "a.summary.txt", "Rain.")
    for split in ("test", "val"):
        prepare("txt", tmp_path / "out", "--source", tmp_path / "texts", "--split", split)
    assert [row[0] for row in manifest(tmp_path / "out")[1:]] == ["test", "val"]


def test_other_encodings_by_flag(tmp_path):
    write(tmp_path / "texts" / "a.txt", "Café".encode("latin-1"))
    prepare("txt", tmp_path / "out", "--source", tmp_path / "texts", "--encoding", "latin-1")
    assert article(tmp_path / "out")["article"] == ["café ."]
