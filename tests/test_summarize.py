from __future__ import annotations

import json
import os
import re
import threading

import numpy as np
import pytest
from browser import chromium, complaints, set_window

from inference.raw_text import Casing, Pairs, join, read_articles, write_sentence
from inference.readable import Readable
from inference.summary import SummarySentence
from inference.summary_page import section

TEXT = """Ba1 BA2 mo3 went to the U.S. (New York) yesterday. "I don't know," said Dr. Zu14, who is 45% sure.

He's the one; it cost $5. Mo33 ba21 <zu12> & ba30!
"""


@pytest.fixture
def article(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    return path


def rewrite(text: str, *sentences: str, tokenizer: str = "python") -> list[str]:
    """Tokenised sentences, or those of the text itself, as a summary of the text writes them."""
    (source,) = read_articles([text], tokenizer)
    casing, pairs = Casing(source), Pairs(source)
    if not sentences:
        return [join(write_sentence(s.words, casing, pairs, place)) for place, s in enumerate(source)]
    return [join(write_sentence(sentence.split(), casing, pairs)) for sentence in sentences]


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
    assert rewrite(TEXT) == [s.text for s in sentences]
    assert [join(write_sentence(s.words, casing)) for s in sentences] == [s.text for s in sentences]


def test_quotes_that_the_text_does_not_have_are_typographic():
    assert rewrite("The cat sat.", "`` the cat '' sat -- -lrb- `` a '' -rrb- .") == ["“The cat” sat – (“a”)."]


def test_a_word_that_only_begins_sentences_is_not_a_name():
    (sentences,) = read_articles(["The cat sat. NATO slept. Anna saw Anna."], "python")
    casing = Casing(sentences)
    assert [casing.of(word) for word in ("the", "nato", "anna", "dog")] == ["the", "NATO", "Anna", "dog"]
    assert join(write_sentence(["anna", "and", "the", "nato", "."], casing)) == "Anna and the NATO."


def test_lines_blank_texts_and_strange_letters():
    articles = read_articles(["", "  \n\n ", "İstanbul ǅ ﬁne.\nA second line"], "python")
    assert [len(article) for article in articles] == [0, 0, 2]
    assert articles[2][0].text == "İstanbul ǅ ﬁne."


@pytest.mark.parametrize("tokenizer", ["python", "auto"])
@pytest.mark.parametrize(
    "sentences",
    [
        ["€6 was paid.", "He had $7 left.", "Then he got £8 back."],
        ["½ of it cost 5¢ in 1/2 the time."],
        ["It cost 5 € and more.", "He left…"],
        ["It’s 3½, ¼ or ¾ (“yes”).", "‘No’ – don’t."],
        ["He left Acme Inc.", "The rest stayed."],
        ["An e\u0301te\u0301 and a cross\u00adword."],
    ],
)
def test_respelled_tokens_are_found_where_they_stand(sentences, tokenizer):
    (found,) = read_articles([" ".join(sentences)], tokenizer)
    assert [s.text for s in found] == sentences
    assert rewrite(" ".join(sentences), tokenizer=tokenizer) == sentences


def test_no_character_of_a_text_is_lost():
    text = "😀 Nice 😀😀 one. ⁂\u2063 “‘So’” ....... he—well…  left &nbsp; it 😀! 日本 \x80 *** 🙂"
    for tokenizer in ("python", "auto"):
        (found,) = read_articles([text], tokenizer)
        assert "".join("".join(s.text for s in found).split()) == "".join(text.split())


def test_tokens_after_a_long_stretch_that_no_token_stands_for_are_found_again():
    (found,) = read_articles(["He Saw " + "😀" * 50 + " Them All. Then He Left."], "python")
    assert found[0].written == ["He", "Saw", "Them", "All", "."]
    assert found[1].text == "Then He Left."


def test_a_paragraph_that_the_tokenizer_leaves_nothing_of_stays():
    for tokenizer in ("python", "auto"):
        (found,) = read_articles(["A cat sat.\n\n😀\n\nIt slept."], tokenizer)
        assert [sentence.text for sentence in found] == ["A cat sat.", "😀", "It slept."]
        assert found[1].words == found[1].written == ["😀"]


def test_a_sentence_that_ends_in_a_quotation_gets_its_stop():
    text = 'He called it "a mess". She said "no!"'
    for words, written in (
        ("it was `` a mess ''", 'It was "a mess".'),
        ("`` it was a mess . ''", '"It was a mess."'),
        ("`` no ! ''", '"No!"'),
        ("he said , `` well , ''", 'He said, "well,"'),
    ):
        assert rewrite(text, words) == [written]
    assert rewrite(text, "he called it", "") == ["He called it", ""]
    assert len(write_sentence(["a", "``", "mess", "''"], Casing([]))) == 4, "a word for each of the model's"


def test_a_sign_is_that_of_its_amount():
    text = "He paid €6 of his $7. It cost £8 or 9 € there."
    assert rewrite(text, "he paid $ 7 , not $ 6 or # 8 .", "he had 9 $ .") == [
        "He paid $7, not €6 or £8.",
        "He had 9 €.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "He cannot go, so he's gonna stay.",
        "In the '90s it cost $1.5m at -5°C.",
        "He — the one — \"left\" in 1990–95.",
        "It said 'no' and and/or (so) 5%.",
    ],
)
def test_neighbours_are_spaced_as_the_text_spaces_them(text):
    assert rewrite(text) == [text]


def test_words_brought_together_are_spaced_by_rule():
    text = "He cannot go — they did not, in the '90s."
    assert rewrite(text, "he did not go in '90s , can he ?") == ["He did not go in '90s, can he?"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_of_a_paragraph_belong_together(line_end):
    text = line_end.join(["A headline", "", "The cat sat", "on the mat. It", "slept.", " ", "The end"])
    (found,) = read_articles([text], "python")
    assert [s.text for s in found] == ["A headline", "The cat sat on the mat.", "It slept.", "The end"]


def test_a_line_of_tokenised_text_is_a_sentence():
    text = "He 's `` here '' .\nSo -LRB- Mr. X . -RRB- it is\n"
    (found,) = read_articles([text], "none")
    assert [s.text for s in found] == text.splitlines()
    assert found[1].words == ["so", "-lrb-", "mr.", "x", ".", "-rrb-", "it", "is"]
    assert rewrite(text, tokenizer="none") == ["He's “here”.", "So (Mr. X.) it is"]


def test_text_from_a_file_and_from_standard_input_are_the_same(golden, tmp_path, summarise):
    (tmp_path / "a.txt").write_text(TEXT)
    flags = ["--model_dir", golden / "rl_ext_only", "--n_ext", 2]
    code, out, _ = summarise(*flags, tmp_path / "a.txt")
    assert code == 0
    lines = out.strip().split("\n")
    assert len(lines) == 2 and set(lines) <= {
        "Ba1 BA2 mo3 went to the U.S. (New York) yesterday.",
        '"I don\'t know," said Dr. Zu14, who is 45% sure.',
        "He's the one; it cost $5.",
        "Mo33 ba21 <zu12> & ba30!",
    }
    assert summarise(*flags, stdin=TEXT)[1] == out


def test_json_tells_where_every_word_comes_from(golden, tmp_path, summarise):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt").write_text("")
    code, out, _ = summarise("--model_dir", golden / "rl", tmp_path, "--format", "json", "--beam", 2)
    assert code == 0
    full, empty = json.loads(out)
    assert (full["name"], empty["name"]) == ("a.txt", "b.txt")
    assert len(full["article"]) == 4 and empty["article"] == empty["sentences"] == []
    for sentence in full["sentences"]:
        assert 0 <= sentence["source"] < 4
        assert len(sentence["copied"]) == len(sentence["words"])
        assert all(0 <= p <= 1 for p in sentence["copied"])
        assert sentence["copied"][0] > 0.5 and 0 not in sentence["replaced"]  # what this model does


def test_beam_diversity_and_length_reach_the_rewriter(golden, article, summarise):
    def scores(*flags: object) -> list[float]:
        code, out, _ = summarise("--model_dir", golden / "rl", "--n_ext", 4, "--format", "json", article, *flags)
        assert code == 0
        (found,) = json.loads(out)
        lengths.append(max(len(s["words"]) for s in found["sentences"]))
        return [s["rewriting_score"] for s in found["sentences"]]

    lengths: list[int] = []
    greedy, beam, diverse = scores(), scores("--beam", 3), scores("--beam", 3, "--div", 5)
    assert greedy != beam != diverse
    assert lengths[0] == 30
    scores("--max_dec_word", 2)
    assert lengths[-1] == 2


def test_a_text_is_summarised_the_same_alone_and_among_others(golden, tmp_path, summarise):
    """Unknown words of a text are not numbered together with those of the next."""
    texts = {"a.txt": TEXT, "b.txt": "Qy1 qy2 went qy3 to the qy4 mo3 ba21.", "c.txt": TEXT.replace("mo3", "qy9")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    flags = ["--model_dir", golden / "rl", "--format", "json"]
    together = json.loads(summarise(*flags, tmp_path)[1])
    alone = [json.loads(summarise(*flags, tmp_path / name)[1])[0] for name in texts]
    for ours, theirs in zip(together, alone, strict=True):
        assert [s["words"] for s in ours["sentences"]] == [s["words"] for s in theirs["sentences"]]
        scores = [[s["rewriting_score"] for s in found["sentences"]] for found in (ours, theirs)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_html_underlines_what_was_generated_only(golden, article, summarise):
    words = ["a", "b", "c", "d"]
    copied, replaced = np.array([0.9, 0.2, 0.1, 0.5], np.float32), np.array([False, False, True, False])
    sentence = SummarySentence(words, 0, None, -1.0, copied, replaced)
    html = section(Readable("x", ["A b."], [sentence], [write_sentence(words, Casing([]))]))
    assert _kinds(html) == ["copied", "made", "replaced", "copied"]
    flags = ["--model_dir", golden / "rl", article]
    (found,) = json.loads(summarise(*flags, "--format", "json")[1])
    wanted = [
        "replaced" if place in sentence["replaced"] else "copied" if p >= 0.5 else "made"
        for sentence in found["sentences"]
        for place, p in enumerate(sentence["copied"])
    ]
    assert "copied" in wanted and _kinds(summarise(*flags, "--format", "html")[1]) == wanted


def _kinds(html: str) -> list[str]:
    return re.findall(r'<span class="(\w+)" title=', html)


def test_html_is_one_page_that_escapes_and_colours(golden, tmp_path, summarise):
    (tmp_path / "a.txt").write_text(TEXT)
    page = tmp_path / "page.html"
    flags = ["--model_dir", golden / "rl", "--n_ext", 4, tmp_path / "a.txt"]
    assert summarise(*flags, "--format", "html", "--output", page)[:2] == (0, "")
    html = page.read_text()
    assert "&lt;zu12&gt; &amp; ba30" in html and "<zu12>" not in html
    assert len(re.findall("<mark", html)) == len(re.findall('class="rewriting"', html)) == 4
    assert not re.search(r"(src|href)=", html)
    assert len(set(re.findall(r"<mark style=\"(--hue:\d+)", html))) == 4


@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_shows_the_summary_beside_the_article_or_first(golden, tmp_path, summarise, width):
    (tmp_path / "a.txt").write_text(TEXT + "w" * 90)
    page = tmp_path / "page.html"
    summarise("--model_dir", golden / "rl", tmp_path / "a.txt", "--format", "html", "--output", page)
    with chromium(tmp_path) as driver:
        set_window(driver, width)
        driver.get(page.as_uri())
        summary, article = (driver.find_element("css selector", f".pair > :nth-child({n})").rect for n in (1, 2))
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        assert not complaints(driver)
    if width == 1280:
        assert summary["y"] == article["y"] and article["x"] + article["width"] < summary["x"]
    else:
        assert summary["y"] + summary["height"] <= article["y"] + 1 and summary["x"] == article["x"]


def test_mistakes_are_told_in_one_line(golden, tmp_path, article, summarise):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").mkdir()
    model = ["--model_dir", golden / "rl"]
    for arguments, told in (
        ([*model, tmp_path / "no.txt"], "does not exist"),
        ([*model, "--input", tmp_path / "no.txt"], "does not exist"),
        ([*model, tmp_path / "empty"], "without a file"),
        ([*model, tmp_path / "bad.txt"], "UTF-8"),
        ([*model, "-", "-"], "only once"),
        ([*model, article, "--ext_dir", "x"], "--model_dir is a whole model"),
        (["--abs_dir", "x", "--extractive", article], "leave one of them out"),
        (["--model_dir", golden / "abs", article], "is needed here"),
    ):
        code, _, error = summarise(*arguments)
        assert code == 2 and told in error and error.count("\n") == 1


def test_a_bad_output_is_told_before_any_model_is_read(tmp_path, summarise):
    (tmp_path / "link").symlink_to(tmp_path / "no" / "out.txt")
    (tmp_path / "file").touch()
    for name in ("no/out.txt", "link", "file/", "no/way/", ""):
        output = f"{tmp_path}/{name}"
        code, _, error = summarise("--model_dir", tmp_path / "no_model", tmp_path, "--output", output)
        assert code == 2 and f"--output {output.rstrip('/')}" in error and "folder" in error and error.count("\n") == 1


def test_the_output_may_be_a_link_or_a_pipe(golden, article, summarise):
    flags = ["--model_dir", golden / "rl_ext_only", article]
    wanted = summarise(*flags)[1].encode()
    link, target, pipe = article.with_name("link"), article.with_name("target"), article.with_name("pipe")
    link.symlink_to(target.name)
    for _ in range(2):  # the target is made, then replaced
        assert summarise(*flags, "--output", link)[:2] == (0, "")
        assert link.is_symlink() and target.read_bytes() == wanted
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert summarise(*flags, "--output", pipe)[0] == 0
    reader.join(10)
    assert received == [wanted] and pipe.is_fifo()


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_an_open_file_by_number_is_not_replaced(golden, article, summarise, mode):
    log = article.with_name("log")
    log.write_bytes(b"before\n")
    flags = ["--model_dir", golden / "rl_ext_only", article]
    with open(log, mode) as file:  # as standard output may be one, whose name a mistake would replace
        assert summarise(*flags, "--output", f"/dev/fd/{file.fileno()}")[:2] == (0, "")
    assert log.read_text() == ("before\n" if mode == "ab" else "") + summarise(*flags)[1]
