from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys

import pytest

import summarize
from inference.raw_text import Casing, join, read_articles, write_sentence
from support.errors import run

TEXT = """Ba1 BA2 mo3 went to the U.S. (New York) yesterday. "I don't know," said Dr. Zu14, who is 45% sure.

He's the one; it cost $5. Mo33 ba21 <zu12> & ba30!
"""


@pytest.fixture
def call(capsysbinary, monkeypatch):
    def call(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["summarize.py", *map(str, arguments), "--tokenizer", "python"])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as exit:
            run(summarize.main)
        out, error = capsysbinary.readouterr()
        return exit.value.code, out.decode(), error.decode()

    return call


def test_sentences_keep_how_they_were_written():
    (sentences,) = read_articles([TEXT], "python")
    assert [s.text for s in sentences] == [
        "Ba1 BA2 mo3 went to the U.S. (New York) yesterday.",
        '"I don\'t know," said Dr. Zu14, who is 45% sure.',
        "He's the one; it cost $5.",
        "Mo33 ba21 <zu12> & ba30!",
    ]
    assert sentences[0].words[-5:] == ["new", "york", "-rrb-", "yesterday", "."]
    assert sentences[0].written[-5:] == ["New", "York", ")", "yesterday", "."]


def test_what_was_tokenised_is_written_as_it_was():
    (sentences,) = read_articles([TEXT], "python")
    casing = Casing(sentences)
    written = [join(write_sentence(s.words, casing)) for s in sentences]
    assert written[0] == "Ba1 BA2 mo3 went to the U.S. (New York) yesterday."
    assert written[1] == "“I don't know,” said Dr. Zu14, who is 45% sure."
    assert written[2] == "He's the one; it cost $5."


def test_a_word_that_only_begins_sentences_is_not_a_name():
    (sentences,) = read_articles(["The cat sat. NATO slept. Anna saw Anna."], "python")
    casing = Casing(sentences)
    assert [casing.of(word) for word in ("the", "nato", "anna", "dog")] == ["the", "NATO", "Anna", "dog"]
    assert join(write_sentence(["anna", "and", "the", "nato", "."], casing)) == "Anna and the NATO."


def test_lines_blank_texts_and_strange_letters():
    articles = read_articles(["", "  \n\n ", "İstanbul ǅ ﬁne.\nA second line"], "python")
    assert [len(article) for article in articles] == [0, 0, 2]
    assert articles[2][0].text.startswith("İstanbul")


def test_text_from_a_file_and_from_standard_input_are_the_same(golden, tmp_path, call):
    (tmp_path / "a.txt").write_text(TEXT)
    flags = ["--model_dir", golden / "rl_ext_only", "--n_ext", 2]
    code, out, _ = call(*flags, "--input", tmp_path / "a.txt")
    assert code == 0
    lines = out.strip().split("\n")
    assert len(lines) == 2 and set(lines) <= {
        "Ba1 BA2 mo3 went to the U.S. (New York) yesterday.",
        "“I don't know,” said Dr. Zu14, who is 45% sure.",
        "He's the one; it cost $5.",
        "Mo33 ba21 <zu12> & ba30!",
    }
    assert call(*flags, stdin=TEXT)[1] == out


def test_json_tells_where_every_word_comes_from(golden, tmp_path, call):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt").write_text("")
    code, out, _ = call("--model_dir", golden / "rl", "--input", tmp_path, "--format", "json", "--beam", 2)
    assert code == 0
    full, empty = json.loads(out)
    assert (full["name"], empty["name"]) == ("a.txt", "b.txt")
    assert len(full["article"]) == 4 and empty["article"] == empty["sentences"] == []
    for sentence in full["sentences"]:
        assert 0 <= sentence["source"] < 4
        assert len(sentence["copied"]) == len(sentence["words"])
        assert all(0 <= p <= 1 for p in sentence["copied"])


def test_a_text_is_summarised_the_same_alone_and_among_others(golden, tmp_path, call):
    """Unknown words of a text are not numbered together with those of the next."""
    texts = {"a.txt": TEXT, "b.txt": "Qy1 qy2 went qy3 to the qy4 mo3 ba21.", "c.txt": TEXT.replace("mo3", "qy9")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    flags = ["--model_dir", golden / "rl", "--format", "json"]
    together = json.loads(call(*flags, "--input", tmp_path)[1])
    alone = [json.loads(call(*flags, "--input", tmp_path / name)[1])[0] for name in texts]
    for ours, theirs in zip(together, alone, strict=True):
        assert [s["words"] for s in ours["sentences"]] == [s["words"] for s in theirs["sentences"]]
        scores = [[s["rewriting_score"] for s in found["sentences"]] for found in (ours, theirs)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_html_is_one_page_that_escapes_and_colours(golden, tmp_path, call):
    (tmp_path / "a.txt").write_text(TEXT)
    page = tmp_path / "page.html"
    flags = ["--model_dir", golden / "rl", "--n_ext", 4, "--input", tmp_path / "a.txt"]
    assert call(*flags, "--format", "html", "--output", page)[:2] == (0, "")
    html = page.read_text()
    assert "&lt;zu12&gt; &amp; ba30" in html and "<zu12>" not in html
    assert len(re.findall("<mark", html)) == len(re.findall('class="rewriting"', html)) == 4
    assert not re.search(r"(src|href)=", html)
    assert len(set(re.findall(r"<mark style=\"(--hue:\d+)", html))) == 4


@pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium")
def test_a_browser_shows_the_page_in_two_columns(golden, tmp_path, call):
    (tmp_path / "a.txt").write_text(TEXT)
    page = tmp_path / "page.html"
    call("--model_dir", golden / "rl", "--input", tmp_path / "a.txt", "--format", "html", "--output", page)
    probe = "<script>document.title=getComputedStyle(document.querySelector('.pair')).gridTemplateColumns</script>"
    page.write_text(page.read_text().replace("</body>", probe + "</body>"))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1200,900", "--dump-dom"]
    command = ["chromium", *flags, page.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert re.search(r"<title>[\d.]+px [\d.]+px</title>", result.stdout)


def test_mistakes_are_told_in_one_line(golden, tmp_path, call):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").mkdir()
    model = ["--model_dir", golden / "rl"]
    for arguments, told in (
        ([*model, "--input", tmp_path / "no.txt"], "does not exist"),
        ([*model, "--input", tmp_path / "empty"], "no .txt file"),
        ([*model, "--input", tmp_path / "bad.txt"], "UTF-8"),
        (["--model_dir", golden / "abs"], "is needed here"),
    ):
        code, _, error = call(*arguments)
        assert code == 2 and told in error and error.count("\n") == 1
