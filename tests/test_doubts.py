"""Which texts get a warning. All were written for this test."""

from __future__ import annotations

import json
import lzma

import pytest

from inference.doubts import doubt, doubts

ENGLISH = """The old harbour of Vessel Bay will close to cars in the spring. The council decided on Monday that the
square in front of the market hall should belong to people on foot. Shops fear for their trade, but a study that the
council had ordered found that most of their customers come by tram or by bicycle. "We have talked about it for ten
years," said the mayor, who won the vote by a majority of two. Work will begin after Easter and will cost
$4 million."""

FOREIGN = {
    "German": """\
Der alte Hafen der kleinen Stadt wird im Frühjahr für Autos gesperrt. Der Rat hat am Montag beschlossen, dass
der Platz vor der Markthalle den Fußgängern gehören soll. Die Händler fürchten um ihr Geschäft, doch eine
Studie, die der Rat in Auftrag gegeben hatte, kam zu dem Ergebnis, dass die meisten Kunden mit der Straßenbahn
oder mit dem Fahrrad kommen. Die Arbeiten beginnen nach Ostern.""",
    "French": """\
Le vieux port de la petite ville sera fermé aux voitures au printemps. Le conseil a décidé lundi que la place
devant la halle devait appartenir aux piétons. Les commerçants craignent pour leurs affaires, mais une étude
commandée par le conseil a montré que la plupart des clients viennent en tramway ou à vélo. Les travaux
commenceront après Pâques et coûteront quatre millions.""",
    "Spanish": """\
El viejo puerto de la pequeña ciudad quedará cerrado a los coches en primavera. El consejo decidió el lunes que
la plaza frente al mercado debe ser de los peatones. Los comerciantes temen por su negocio, pero un estudio
encargado por el consejo mostró que la mayoría de los clientes llega en tranvía o en bicicleta. Las obras
empezarán después de Pascua y costarán cuatro millones.""",
    "Dutch": """\
De oude haven van het stadje gaat in het voorjaar dicht voor auto's. De raad besloot maandag dat het plein voor
de markthal van de voetgangers moet zijn. De winkeliers vrezen voor hun omzet, maar uit een onderzoek dat de
raad had laten doen blijkt dat de meeste klanten met de tram of met de fiets komen. Het werk begint na Pasen en
kost vier miljoen.""",
    "Danish": """\
Den gamle havn i den lille by bliver lukket for biler til foråret. Byrådet besluttede mandag, at pladsen foran
markedshallen skal være for fodgængere. De handlende er bange for at miste kunder, men en undersøgelse viste, at
de fleste kommer med sporvogn eller på cykel. Arbejdet begynder efter påske og kommer til at koste fire
millioner, som byen har fået for at bygge om.""",
    "Russian": """\
Старая гавань небольшого города весной будет закрыта для автомобилей. В понедельник совет решил, что площадь
перед рынком должна принадлежать пешеходам. Торговцы боятся за свою выручку, но исследование показало, что
большинство покупателей приезжает на трамвае или на велосипеде. Работы начнутся после Пасхи и обойдутся в четыре
миллиона.""",
    "Chinese": (
        "小城的老港口将于春天对汽车关闭。市议会星期一决定，市场前的广场应当属于行人。商人们担心他们的生意"
        "，但是议会委托的一项研究表明，大多数顾客乘坐有轨电车或者骑自行车前来。工程将在复活节之后开始，费"
        "用为四百万。市长说我们已经谈论了十年。"
    )
    * 2,
}
HTML = f"""<!doctype html><html><head><title>Harbour</title></head><body>
<div class="story"><p>{ENGLISH}</p><p>Read <a href="/more.html">more</a></p></div></body></html>"""
CODE = '''def mean(values, weights=None):
    """The mean of the values, weighted or not."""
    if weights is None:
        weights = [1] * len(values)
    total = sum(w * v for w, v in zip(weights, values))
    return total / sum(weights)


class Counter:
    def __init__(self, start=0):
        self.count_so_far = start  # how many were seen until now

    def add(self, number_of_items):
        self.count_so_far += number_of_items
'''
SCRIPT = """// Adds a line to the list of those that were seen, and tells the others about it.
const seen = [];
function add(line, listeners) {
  if (!seen.includes(line)) {
    seen.push(line);
    listeners.forEach((listener) => listener({ line, count: seen.length }));
  }
  return seen.length;
}
"""


@pytest.mark.parametrize("language", FOREIGN)
def test_other_languages_are_told(language):
    assert "hardly English" in str(doubt(FOREIGN[language]))


@pytest.mark.parametrize("text", [HTML, f"<p>{ENGLISH}</p>" * 3, CODE, SCRIPT])
def test_markup_and_code_are_told(text):
    assert "markup or code" in str(doubt(text))


@pytest.mark.parametrize("text", ["Rain.", ENGLISH[:120], "12 34 😀"])
def test_a_text_of_a_few_words_is_far_too_short(text):
    assert "far too short" in str(doubt(text))


def test_plain_english_is_not_doubted():
    assert doubt(ENGLISH) is None
    assert doubt(ENGLISH.upper()) is None
    assert doubt(f"{ENGLISH} It is <b>new</b> (see [1]; the rest = the same).") is None


def test_an_empty_text_is_told():
    assert doubt("") == doubt(" \n\t") and "empty" in str(doubt(""))


def test_of_many_doubtful_texts_the_first_are_named():
    found = doubts({f"{n}": "" for n in range(1000)} | {"fine": ENGLISH})
    assert len(found) == 6 and found[0].startswith("0 is empty") and found[-1].startswith("995 more")


def test_real_news_is_hardly_ever_doubted(shared):
    with lzma.open(shared / "cnndm" / "val.jsonl.xz", "rt", encoding="utf-8") as file:
        texts = ["\n".join(json.loads(line)["article"]) for line in file]
    assert len(texts) > 1000 and sum(doubt(text) is not None for text in texts) < 0.005 * len(texts)
