"""A writer of synthetic newswire: every word, name and sentence pattern in this package is invented.

An article reports a few story lines. The *key* sentences of stories from `stories.txt` become highlights. All
else does not: details, quotes, what happened years ago, retellings of key sentences, minor stories, asides.
The text files hold all the language, one template a line:

    {slot}       a value: a name, a number, or an entry of a `list` or `fragment` of words.txt
    {person2}    somebody else than {person}; the same slot has the same value in a whole story line
    {person+}    a name that may carry an apposition where it is first mentioned
    {firm's}     a name with its possessive
    {a_job}      a value with its article
    {in_place}   where it happens: "in the port of lorvek", "in lorvek" or nothing
    (a|b c|)     one of the alternatives, here perhaps none

A story kind is a paragraph. To add one, write for instance into stories.txt

    story wedding
    key
    tell {person+} (wed|married) {person2+} {in_place} {when} in front of {count} (guests|friends)
    tell {count} (guests|friends) watched {when} as {person+} (wed|married) {person2+} {in_place}
    sum {person} and {person2} tie the knot {in_place} .
    key
    tell the cake , which weighed {tally} pounds , (cost|set them back) {money}
    sum cake was worth {money} .
    detail the rings were carried by a {jobless} on a velvet cushion
    past an earlier wedding of {person} was put off in {year}
    quote `` i cried from the first minute to the last , '' said {person2} .

The first key says what happened and is always told, the others in any number. `tell` lines are clauses
without a final period, so that they can be framed: "police said that ...", see `fragment frame` in words.txt.
`sum` lines are whole sentences; their slots must occur in every `tell` line of their key, so that one article
sentence is enough to write the highlight. `past` lines use the words of key sentences without being news.
"story wedding urgent" would open the summary wherever the article tells it. A paragraph in fillers.txt,
`minor ...` or `general ...`, has details and quotes alone. A new slot is a `list` in words.txt or a function
in names.py. Mistakes are reported with file and line.
"""

RECIPE_FILE = "sample.json"  # beside its splits: how it was made
