"""Conventions of outputs and references: noticed where they differ, silent where not, normalised on request."""

from __future__ import annotations

import pytest

from metrics.conventions import CONVENTIONS, NORMALISABLE, choose, differences, normalise
from support.errors import UserError

PLAIN = 'he said ( twice ) " it \'s £ 5 , " and left .'
LONG = " ".join(["the cat sat on the mat and slept ."] * 4)
OTHER = {
    "brackets": PLAIN.replace("(", "-lrb-").replace(")", "-rrb-"),
    "quotes": PLAIN.replace('" it', "`` it").replace('" and', "'' and"),
    "currency": PLAIN.replace("£", "#"),
    "case": PLAIN.replace("he", "He"),
    "sentences": LONG,
    "spacing": "he left, then he sat. it was late, and cold.",
}


@pytest.mark.parametrize("topic", CONVENTIONS)
def test_a_difference_is_noticed_named_and_can_be_removed(topic):
    ours = [OTHER[topic]] * 3
    theirs = [LONG.replace(" . ", " .\n") if topic == "sentences" else PLAIN] * 3
    (note,) = differences({"the references": theirs, "BART": ours})
    assert note.startswith(f"{topic}: ") and " in BART, " in note and " in the references; " in note
    assert (f"--normalise {topic}" in note) == (topic in NORMALISABLE)
    if topic in NORMALISABLE:
        both = [[normalise(text, [topic]) for text in texts] for texts in (ours, theirs)]
        assert differences({"the references": both[1], "BART": both[0]}) == []
        assert both[1] == [text.lower() for text in theirs] if topic == "case" else both[1] == theirs


def test_the_same_conventions_are_not_mentioned():
    for text in (PLAIN, *OTHER.values()):
        assert differences({"a": [text] * 5, "b": [text] * 9}) == []


def test_texts_that_do_not_tell_are_not_mentioned():
    assert differences({"a": ["nothing to see"], "b": ["-lrb- x -rrb- `` y '' # 5"]}) == []
    assert differences({"a": ["A B C"], "b": [""]}) == []


def test_where_the_references_do_not_tell_systems_are_compared_with_the_first_one():
    texts = {"the references": ["he left ."], "ours": ["he -lrb- 40 -rrb- left ."], "theirs": ["he ( 40 ) left ."]}
    (note,) = differences(texts)
    assert note.startswith("brackets: as round ones in theirs, as lrb in ours; ")


def test_everything_in_one_way():
    text = "-LRB- He paid # 5 . -RRB- `` Yes , ’’ he said"
    assert normalise(text, choose("all")) == "( he paid £ 5 . )\n\" yes , '' he said"
    assert normalise(text, []) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("he came . he saw ! did he ? yes", "he came .\nhe saw !\ndid he ?\nyes"),
        ("`` he came . '' he saw .", "`` he came . ''\nhe saw ."),
        ('He came. He saw Mr. brown at 3.5 p.m. yesterday. "Yes." No.', None),
        ("one .\ntwo . three .", "one .\ntwo . three ."),  # it has its lines
    ],
)
def test_sentences_are_parted_after_their_ends(text, expected):
    expected = expected or 'He came.\nHe saw Mr. brown at 3.5 p.m. yesterday.\n"Yes."\nNo.'
    assert normalise(text, ["sentences"]) == expected


def test_an_unknown_convention_is_told():
    assert choose("case, brackets") == ["brackets", "case"] and choose("") == []
    with pytest.raises(UserError, match="--normalise spacing is not known: take all, or some of brackets,quotes"):
        choose("spacing")
