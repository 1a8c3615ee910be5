"""Porter's suffix stripping (Program 14(3), 1980) in the variant of ROUGE-1.5.5.

The variant: the endings -ment and -ent are tried after all other endings of step 4, one after the other, so
that a word can lose two endings there; -ion is tried only where no -ent was found. Digits are consonants.
"""

from __future__ import annotations

import re

_C = "[^aeiou][^aeiouy]*"  # a run of consonants; y opens one after a vowel or, as Y, in front of a word
_V = "[aeiouy][aeiou]*"
_HAS_VOWEL = re.compile(f"(?:{_C})?[aeiouy]").match
_MEASURE_ABOVE_0 = re.compile(f"(?:{_C})?{_V}{_C}").match
_MEASURE_1 = re.compile(f"(?:{_C})?{_V}{_C}(?:{_V})?").fullmatch
_MEASURE_ABOVE_1 = re.compile(f"(?:{_C})?{_V}{_C}{_V}{_C}").match
_SHORT = re.compile(f"{_C}[aeiouy][^aeiouwxy]").fullmatch
_DOUBLED = re.compile(r"([^aeiouylsz])\1$").search

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_2_ENDING = re.compile("(" + "|".join(_STEP_2) + ")$")
_STEP_3_ENDING = re.compile("(" + "|".join(_STEP_3) + ")$")
_STEP_4_ENDING = re.compile("(al|ance|ence|er|ic|able|ible|ant|ement|ou|ism|ate|iti|ous|ive|ize)$")


def stem(word: str) -> str:
    """The stem of a lower-case word of at least three characters."""
    if word[0] == "y":
        return "y" + _strip("Y" + word[1:])[1:]
    return _strip(word)


def _strip(word: str) -> str:
    word = _past_and_progressive(_plural(word))
    if word.endswith("y") and _HAS_VOWEL(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2_ENDING, _STEP_2)
    word = _replace(word, _STEP_3_ENDING, _STEP_3)
    return _final_e_and_ll(_residual_endings(word))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_progressive(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _MEASURE_ABOVE_0(word[:-3]) else word
    ending = "ed" if word.endswith("ed") else "ing"
    base = word.removesuffix(ending)
    if base == word or not _HAS_VOWEL(base):
        return word
    if base.endswith(("at", "bl", "iz")) or (not _DOUBLED(base) and _SHORT(base)):
        return base + "e"
    return base[:-1] if _DOUBLED(base) else base


def _replace(word: str, ending: re.Pattern[str], replacement: dict[str, str]) -> str:
    found = ending.search(word)
    if found and _MEASURE_ABOVE_0(word[: found.start()]):
        return word[: found.start()] + replacement[found[1]]
    return word


def _residual_endings(word: str) -> str:
    if found := _STEP_4_ENDING.search(word):
        word = _drop(word, len(found[1]))
    if word.endswith("ment"):
        word = _drop(word, 4)
    if word.endswith("ent"):
        return _drop(word, 3)
    return _drop(word, 3) if word.endswith(("sion", "tion")) else word


def _drop(word: str, count: int) -> str:
    return word[:-count] if _MEASURE_ABOVE_1(word[:-count]) else word


def _final_e_and_ll(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if _MEASURE_ABOVE_1(base) or (_MEASURE_1(base) and not _SHORT(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _MEASURE_ABOVE_1(word) else word
