"""Penn Treebank tokens without Java: a regular-expression approximation of the Stanford PTB tokenizer.

`data.tokenizer` uses it only where no Java is found. It follows the same conventions (`-LRB-`, ` `` `, `''`,
`n't`, `--`, `#` for the pound sign) and treats abbreviations alike; docs/FORMATS.md says how often it agrees.
"""

from __future__ import annotations

import re

_L = r"[^\W\d_]"  # a letter
_A = r"[^\W_]"  # a letter or digit
_APOSTROPHE = "['’]"
_WORD_ENDS = rf"(?!{_A})"
_PATH = r"""[^\s"“”<>|()]*[^\s"“”‘’<>|().,:;!?'-]"""  # of a web address, without the stop behind it

# A sentence may end at these: "Foo Inc. The" gets a second full stop, "Foo Inc. said" none.
_FINAL_ABBREVIATION = rf"""(?:
    (?i:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu(?:rs)?|fri)
  | (?i:ala|ariz|calif|colo|conn|ct|dak|fla|ga|ind|kans?|ky|md|mich|minn|mo|mont|neb|nev|okla|penn|tenn|va|vt
       |wisc?|wyo)
  | Ark|Del|Ill|La|Mass|Miss|Ore|Pa|Tex|Wash
  | (?i:inc|cos?|corp|ptys?|ltd|plc|bancorp|bhd|assn|univ|intl|sys|jr|sr|bros|ed\.d|ph\.d|esq|bldg|blvd|rd|sq
       |tel|ext|est|etc|al|seq)
)\.{_WORD_ENDS}"""
# A title or unit that belongs to what follows, so that its full stop never ends a sentence.
_BOUND_ABBREVIATION = rf"""(?i:mrs?|ms|drs?|profs?|sens?|reps?|govs?|gens?|ste?|lt|lieut|col|sgt|capt|rev|hon
    |maj|adm|co?mdr|pres|mt|ave|attys?|messrs|cpl|pvt|brig|pfc|spc|supts?|det|mlle|mme|insp|treas|dept|ft|natl
    |mfg|vs|cf)\.{_WORD_ENDS}"""
_NUMBERED_ABBREVIATION = r"(?i:nos?|figs?|pp|art|prop|ph)\.(?=\ ?\d)"
# Words that begin a sentence often enough for the full stop of "the U.S. The" to count twice.
_SENTENCE_OPENERS = (
    r"(?:A|About|According|Additionally|After|An|As|At|But|Earlier|He|Her|Here|However|If|In|It|Last|Many|More|Mr\.|Ms\."
    r"|Now|Once|One|Other|Our|She|Since|So|Some|Such|That|The|Their|Then|There|These|They|This|We|When|While|What|Yet"
    r"|You)(?=\s)"
)
_APOSTROPHE_WORD = rf"""
    (?!(?i:i{_APOSTROPHE}(?:ve|ll)|y{_APOSTROPHE}all)\b) {_L}{_APOSTROPHE}{_L}{{2,}}  # O'Brien, not I've
  | {_L}{{2}}{_APOSTROPHE}[aeiouAEIOU]{_L}*  # Xi'an
  | (?i:shi{_APOSTROPHE}(?:a|ites?)|hawai{_APOSTROPHE}i)
"""

_TOKEN = re.compile(
    rf"""
    (?P<skip>[\s\u00ad\u200b\ufeff\U00010000-\U0010ffff]+)
  | (?P<bracket>(?i:-[lr][rsc]b-))
  | (?P<tag></?[A-Za-z!][^<>]*>)
  | (?P<entity>&(?:amp|lt|gt|quot|apos|nbsp|\#\d+);)
  | (?P<url>(?:https?://|www\.){_PATH}|(?:{_A}[\w-]*\.)+(?:com|net|org|edu|gov|co|uk|tv|info|biz)/{_PATH})
  | (?P<email>[\w.+-]*\w@\w[\w-]*(?:\.\w[\w-]*)*)
  | (?P<handle>@[A-Za-z_]\w*|\#{_L}+)
  | (?P<phone>\(\d{{3}}\)\ ?\d{{3}}-\d{{4}})
  | (?P<final>(?<!{_A})(?:{_FINAL_ABBREVIATION}))
  | (?P<bound>(?<!{_A})(?:{_BOUND_ABBREVIATION}|{_NUMBERED_ABBREVIATION}))
  | (?P<acronym>(?<!{_A}){_L}(?:\.{_L})+\.(?:(?:-{_A}+)+|{_WORD_ENDS}))
  | (?P<initial>(?<!{_A}){_L}\.{_WORD_ENDS}(?!\ {_SENTENCE_OPENERS}))
  | (?P<dotted>{_L}{_A}*(?:\.{_L}{_A}*)+)
  | (?P<ampersand>(?<!{_A})[A-Z]{{1,2}}&(?:amp;)?[A-Z]{_WORD_ENDS})
  | (?P<negated>{_L}+?(?=(?i:n{_APOSTROPHE}t){_WORD_ENDS}))
  | (?P<clitic>(?i:n{_APOSTROPHE}t|{_APOSTROPHE}(?:s|m|d|re|ve|ll)){_WORD_ENDS})
  | (?P<contraction>(?<!{_A})(?i:can(?=not)|gon(?=na)|got(?=ta)|wan(?=na)|lem(?=me)|gim(?=me)
        |{_APOSTROPHE}t(?=is)|{_APOSTROPHE}t(?=was))(?={_L}{{2,3}}{_WORD_ENDS}))
  | (?P<elided>{_APOSTROPHE}(?i:n){_APOSTROPHE}
        |{_APOSTROPHE}(?:(?i:em|till?|cause|n)|\d\ds?){_WORD_ENDS}
        |(?<!{_A})(?i:ol|y){_APOSTROPHE}(?!s\b))
  | (?P<apostrophe>(?<!{_A})(?:{_APOSTROPHE_WORD}))
  | (?P<currency>(?:US|HK|AU|NZ|CAN|[ACMRS])\$)
  | (?P<number>\d+(?:[.,]\d+)+(?:-{_A}+)+
        |(?:(?<!{_A})[-+])?[.,:]?\d+(?:[.,:]\d+)+
        |(?:(?<!{_A})[-+]|[.,:])\d+{_WORD_ENDS})
  | (?P<word>(?:[cC]\+\+|[A-Za-z]\#){_WORD_ENDS}|{_A}+(?:_{_A}+)*(?:[-/]{_A}+(?:_{_A}+)*)*)
  | (?P<ellipsis>\.{{3,}}|…|\.\ \.\ \.)
  | (?P<dash>-{{2,}}|[–—‒‐‑])
  | (?P<smiley>[:;=]-?[()])
  | (?P<open>["“«](?=[A-Za-z0-9$])|[“«]|``)
  | (?P<close>["”»]|'')
  | (?P<opening>[‘‹`]|'(?=[A-Za-z]{{2}}|[A-Za-z]'))
  | (?P<closing>['’])
  | (?P<run>[!?]+|\*+|_+|\#{{2,}})
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_SPELLING = {
    "(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-",
    "£": "#", "€": "$", "¤": "$", "¢": "cents", "…": "...",
    "½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3",
    "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "''", "&apos;": "'",
}  # fmt: skip
_KIND_SPELLING = {
    "ellipsis": "...", "dash": "--", "open": "``", "close": "''", "opening": "`", "closing": "'",
}  # fmt: skip
_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})
_FRACTION = re.compile(r"(?<=\d)(?=[½¼¾⅓⅔])")
_SENTENCE_FOLLOWS = re.compile(r"\s*$|\s+[A-Z]")
_OPENER_FOLLOWS = re.compile(rf"\s+{_SENTENCE_OPENERS}")


def tokenize(line: str) -> list[str]:
    """PTB tokens of one line, in its own case."""
    line = _FRACTION.sub(" ", line.replace("\u00ad", ""))
    tokens: list[str] = []
    for match in _TOKEN.finditer(line):
        kind = match.lastgroup
        if kind == "skip":
            continue
        tokens += _spell(str(kind), match.group()).split()
        if (kind == "final" and _SENTENCE_FOLLOWS.match(line, match.end())) or (
            kind == "acronym" and _OPENER_FOLLOWS.match(line, match.end())
        ):
            tokens.append(".")
    return tokens


def _spell(kind: str, text: str) -> str:
    if kind in _KIND_SPELLING:
        return _KIND_SPELLING[kind]
    if kind == "clitic":
        return text.replace("’", "'")
    if kind in ("phone", "smiley"):
        return text.translate(_BRACKETS)
    if kind == "ampersand":
        return text.replace("&amp;", "&")
    if text == "&nbsp;":
        return ""
    return _SPELLING.get(text, text)
