"""The human evaluation kit: pages for judges, and the tally of their answers."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import chromium, complaints, set_window
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st
from synthetic_runs import make_runs

from report.human_eval.kit import CHOICES, QUESTIONS, readable
from report.human_eval.tally import OUTCOMES, Key, Vote, fleiss_kappa, merge, read_answers, read_key, table_4
from support.errors import UserError

A, B = "rnn_ext_abs_rl_rerank", "pointer_generator_coverage"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("judging")
    make_runs(root / "runs", root / "data", rows=(A, B))
    return root


def make(runs: Path, out: Path, *more: str):
    systems = ("--a", str(runs / "runs/decode" / A), "--b", str(runs / "runs/decode" / B))
    return run_here(
        "-m", "report.human_eval", "make", *systems, "--data_dir", str(runs / "data"), "--out", str(out), *more
    )


@pytest.fixture(scope="module")
def kit(runs) -> Path:
    result = make(runs, runs / "kit", "--count", "12", "--batch", "4")
    assert result.returncode == 0, result.stderr
    return runs / "kit"


@pytest.fixture(scope="module")
def browser_folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def chromium_of_module(browser_folder):
    with chromium(browser_folder) as driver:
        yield driver


@pytest.fixture
def browser(chromium_of_module, kit):
    """Chromium that keeps no answers yet."""
    set_window(chromium_of_module, 1280)
    chromium_of_module.get((kit / "batch_1.html").as_uri())
    chromium_of_module.execute_script("localStorage.clear()")
    return chromium_of_module


@pytest.fixture(scope="module")
def key(kit) -> Key:
    return read_key(kit.with_name("kit.key.json"))


def embedded(page: Path) -> dict:
    (kit,) = re.findall(r'id="kit" type="application/json">(.*?)</script>', page.read_text())
    return json.loads(kit)


def items_of(kit: Path) -> list[dict]:
    return [item for page in sorted(kit.glob("batch_*.html")) for item in embedded(page)["items"]]


# --- the kit


def test_a_kit_is_pages_a_csv_and_a_key_kept_apart(kit):
    assert sorted(path.name for path in kit.iterdir()) == ["batch_1.html", "batch_2.html", "batch_3.html", "crowd.csv"]
    assert kit.with_name("kit.key.json").is_file()


def test_the_key_tells_which_summary_is_whose(kit, runs):
    key = json.loads(kit.with_name("kit.key.json").read_text())
    assert key["systems"] == ["rnn-ext + abs + RL + rerank", "pointer-generator + coverage"]
    for item in items_of(kit):
        place = key["items"][item["item"]]
        first, second = (
            readable((runs / f"runs/decode/{name}/output/{place['article']}.dec").read_text().split("\n"))
            for name in (A, B)
        )
        assert [item["A"], item["B"]] == ([first, second] if place["A"] == "first" else [second, first])


def test_the_order_of_the_systems_is_shuffled(key):
    assert set(key.shown_as_a.values()) == {"first", "second"}


def test_pages_and_csv_do_not_tell_the_systems(kit):
    for path in kit.iterdir():
        assert not re.search(r"pointer.generator|rerank|rnn.ext|swapped|decode", path.read_text())


def test_the_same_seed_gives_the_same_kit_and_another_seed_another(runs, kit, tmp_path):
    for seed in ("0", "1"):
        assert make(runs, tmp_path / seed, "--count", "12", "--batch", "4", "--seed", seed).returncode == 0
    assert (tmp_path / "0/batch_2.html").read_bytes() == (kit / "batch_2.html").read_bytes()
    articles = [
        [item["article"] for item in json.loads((tmp_path / f"{seed}.key.json").read_text())["items"].values()]
        for seed in "01"
    ]
    assert articles[0] != articles[1] and len(set(articles[0])) == 12


def test_the_csv_has_the_items_of_the_pages(kit):
    with open(kit / "crowd.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    items = items_of(kit)
    assert [row["item"] for row in rows] == [str(n) for n in range(1, 13)]
    by_number = {item["item"]: item for item in items}
    assert all(row["summary_a"] == "<br>".join(by_number[row["item"]]["A"]) for row in rows)


def test_judges_read_text_as_people_write_it():
    tokens = "`` it 's # 5 -lrb- not $ 7 -rrb- , '' he did n't say ."
    assert readable([tokens, ""]) == ["“It's #5 (not $7),” he didn't say.", ""]


def test_half_a_surrogate_pair_does_not_stop_a_kit(runs, tmp_path):
    shutil.copytree(runs / "data", tmp_path / "data")
    for path in (tmp_path / "data/test").glob("*.json"):
        article = json.loads(path.read_text())
        path.write_text(json.dumps(article | {"article": ["lone \ud83d half", *article["article"]]}))
    result = make(runs, tmp_path / "kit", "--data_dir", str(tmp_path / "data"), "--count", "2")
    assert result.returncode == 0, result.stderr
    assert all(item["article"][0] == "Lone ? half" for item in items_of(tmp_path / "kit"))
    assert "Lone ? half" in (tmp_path / "kit/crowd.csv").read_text(encoding="utf-8")


def test_a_kit_is_never_overwritten(runs, kit):
    before = (kit / "batch_1.html").read_bytes()
    result = make(runs, kit, "--seed", "5")
    assert result.returncode == 2 and "already there" in result.stderr and result.stderr.count("\n") == 1
    assert (kit / "batch_1.html").read_bytes() == before


def test_text_cannot_end_the_script_of_a_page(runs, browser, tmp_path):
    output = tmp_path / "evil"
    output.mkdir()
    for i in range(40):
        (output / f"{i}.dec").write_text("&lt;/script&gt;&lt;b&gt; {{kit}}")
    systems = ("--a", str(output), "--b", str(runs / "runs/decode" / B), "--split", "test")
    arguments = (*systems, "--data_dir", str(runs / "data"), "--out", str(tmp_path / "kit"), "--count", "2")
    assert run_here("-m", "report.human_eval", "make", *arguments).returncode == 0
    page = tmp_path / "kit/batch_1.html"
    assert ["</script><b> {{kit}}"] in [embedded(page)["items"][0][side] for side in "AB"]
    browser.get(page.as_uri())
    assert "</script><b> {{kit}}" in [browser.find_element("id", side).text for side in "AB"]
    assert complaints(browser) == []


def test_a_log_whose_split_is_no_name_is_told(runs, tmp_path):
    folder = tmp_path / "system"
    shutil.copytree(runs / "runs/decode" / A, folder)
    (folder / "log.json").write_text('{"split": ["test"]}')
    result = make(runs, tmp_path / "kit", "--a", str(folder))
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "which split do the two systems belong to" in result.stderr and str(folder) in result.stderr


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("--count", "0"), "at least 1"),
        (("--a", "nowhere"), "is not a folder"),
        (("--data_dir", "nowhere"), "nowhere/test/"),
    ],
)
def test_bad_flags_of_make_are_told_in_one_line(runs, tmp_path, change, expected):
    result = make(runs, tmp_path / "kit", "--split", "test", *change)
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and expected in result.stderr
    assert list(tmp_path.iterdir()) == []


# --- the page in a browser


def _keeps(browser) -> bool:
    """Whether the probe is still there."""
    return bool(browser.execute_script("return localStorage.getItem('probe')"))


def _wait_until_it_keeps(browser) -> None:
    """What a page stores while a new profile is still being made can be lost."""
    for _ in range(20):
        browser.execute_script("localStorage.setItem('probe', 1)")
        browser.refresh()
        if _keeps(browser):
            return
        time.sleep(0.1)
    raise AssertionError("this browser keeps nothing")


def _answer_three_of_four(browser) -> None:
    assert browser.find_element("id", "article-title").text == "Article 1 of 4"
    _choose(browser, "relevance", "A")
    _choose(browser, "readability", "equal")
    browser.find_element("id", "next").click()
    browser.find_element("css selector", "body").send_keys("2", "4")  # B is better, A is better
    browser.find_element("css selector", "body").send_keys("\ue014")  # arrow right
    _choose(browser, "relevance", "B")
    _choose(browser, "relevance", "equal")  # a change of mind
    _choose(browser, "readability", "B")


def test_a_judge_clicks_through_a_page_and_the_answers_are_tallied(kit, key, browser, browser_folder):
    browser.get((kit / "batch_1.html").as_uri())
    for _ in range(5):
        _wait_until_it_keeps(browser)
        _answer_three_of_four(browser)
        browser.refresh()  # answers are kept
        if _keeps(browser):  # a busy browser has lost the probe, too, and so says nothing about the page
            break
    assert browser.find_element("id", "article-title").text == "Article 3 of 4"
    assert browser.find_element("css selector", "input[name=relevance]:checked").get_attribute("value") == "equal"
    assert browser.find_element("id", "status").text == "3 of 4 answered"

    browser.find_element("id", "download").click()
    assert "name" in browser.find_element("id", "status").text  # who judges?
    assert browser.switch_to.active_element.get_attribute("id") == "judge"
    browser.switch_to.active_element.send_keys("Ana 1")  # digits in a name answer nothing
    browser.find_element("css selector", "#steps button:nth-child(4)").click()
    browser.find_element("css selector", "body").send_keys("3", "6")
    assert browser.find_element("id", "status").text == "4 of 4 answered: ready to download"
    browser.find_element("id", "download").click()
    answers = _wait_for(browser_folder / "downloads" / "answers_batch1_Ana_1.json")
    assert complaints(browser) == []
    given = json.loads(answers.read_text())
    items = [item["item"] for item in embedded(kit / "batch_1.html")["items"]]
    choices = [("A", "equal"), ("B", "A"), ("equal", "B"), ("equal", "equal")]
    expected = [{"relevance": r, "readability": q} for r, q in choices]
    assert given["judge"] == "Ana 1" and given["answers"] == dict(zip(items, expected, strict=True))
    votes = read_answers(answers, key)
    outcome = votes[Vote("relevance", items[0], "Ana 1")]
    assert outcome == key.shown_as_a[items[0]]
    result = run_here("-m", "report.human_eval", "tally", "--key", str(kit.with_name("kit.key.json")), str(answers))
    assert result.returncode == 0 and "equally good/bad" in result.stdout


def test_two_pages_of_a_kit_keep_their_answers_apart(kit, browser):
    for page in ("batch_1.html", "batch_2.html"):
        browser.get((kit / page).as_uri())
        assert browser.find_element("id", "status").text == "0 of 4 answered"
        browser.find_element("css selector", "body").send_keys("1", "4")
        assert browser.find_element("id", "status").text == "1 of 4 answered"


def test_the_page_can_be_answered_on_a_telephone(kit, browser):
    set_window(browser, 390)
    browser.get((kit / "batch_3.html").as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    _choose(browser, "readability", "B")
    assert browser.find_element("css selector", "input[name=readability]:checked").get_attribute("value") == "B"


def _choose(driver, question: str, value: str) -> None:
    driver.find_element("css selector", f"input[name={question}][value={value}]").click()


def _wait_for(path: Path) -> Path:
    for _ in range(1200):
        if path.is_file() and path.stat().st_size:
            return path
        time.sleep(0.05)
    raise AssertionError(f"{path.name} was not downloaded; {[p.name for p in path.parent.glob('*')]}")


# --- the tally


def write_answers(path: Path, key: Key, judge: str, choose, changes: dict | None = None) -> Path:
    answers = {item: choose(item) for item in key.shown_as_a}
    path.write_text(json.dumps({"kit": key.kit, "batch": 1, "judge": judge, "answers": answers} | (changes or {})))
    return path


def prefer(key: Key, item: str, system: str) -> str:
    return "A" if key.shown_as_a[item] == system else "B"


def test_three_judges_become_table_4(key, kit, tmp_path):
    def choose(judge):
        relevance = "first" if judge < 2 else "second"
        return lambda item: {"relevance": prefer(key, item, relevance), "readability": "equal"}

    files = [write_answers(tmp_path / f"{judge}.json", key, f"judge {judge}", choose(judge)) for judge in range(3)]
    table = table_4(merge({path: read_answers(path, key) for path in files}), key)
    (section,) = table.sections
    assert [[cell.text for cell in line.ours] for line in section.lines] == [
        ["24", "0", "24"],
        ["12", "0", "12"],
        ["0", "36", "36"],
    ]
    assert [[cell.text for cell in line.paper] for line in section.lines] == [
        ["137", "133", "270"],
        ["120", "128", "248"],
        ["43", "39", "82"],
    ]
    relevance, readability = table.notes
    assert "kappa -0.500" in relevance and "33.3 % of pairs" in relevance
    assert "undefined, all gave one answer" in readability and "100.0 % of pairs" in readability
    arguments = ("--key", str(kit.with_name("kit.key.json")), "--format", "markdown", *map(str, files))
    result = run_here("-m", "report.human_eval", "tally", *arguments)
    assert result.returncode == 0 and "| rnn-ext + abs + RL + rerank | 24 | 0 | 24 | 137 | 133 | 270 |" in result.stdout


def test_unfinished_items_are_told(key, tmp_path):
    path = write_answers(tmp_path / "x.json", key, "x", lambda item: {"relevance": "A"} if int(item) < 4 else {})
    table = table_4(read_answers(path, key), key)
    assert table.notes[-1] == "12 of 12 items do not have the answers of 3 judges"
    assert "no item has two judges" in table.notes[0]


def test_results_of_a_crowd_platform_count_as_the_pages_do(key, tmp_path):
    dice = random.Random(1)
    chosen = {item: {question: dice.choice(CHOICES) for question in QUESTIONS} for item in key.shown_as_a}
    page = write_answers(tmp_path / "x.json", key, "W1", chosen.get)
    with open(tmp_path / "x.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["HITId", "WorkerId", "Input.kit", "Input.item", "Answer.readability", "Answer.relevance"])
        for item, answer in chosen.items():
            writer.writerow(["h", "W1", key.kit, item, answer["readability"], answer["relevance"]])
    assert read_answers(tmp_path / "x.csv", key) == read_answers(page, key)


def test_the_same_file_twice_counts_once_and_a_contradiction_is_told(key, tmp_path):
    first = write_answers(tmp_path / "1.json", key, "x", lambda _: {"relevance": "A"})
    again = write_answers(tmp_path / "2.json", key, "x", lambda _: {"relevance": "A"})
    other = write_answers(tmp_path / "3.json", key, "x", lambda _: {"relevance": "B"})
    votes = {path: read_answers(path, key) for path in (first, again, other)}
    assert len(merge({path: votes[path] for path in (first, again)})) == 12
    with pytest.raises(UserError, match=r"3.json: x answered item 1 otherwise in another file"):
        merge(votes)


BAD: dict[str, tuple[Any, str]] = {
    "missing.json": (None, "does not exist"),
    "binary.json": (b"\xff\xfe\x00", "not readable JSON"),
    "list.json": (b"[]", "is not a file of answers"),
    "kit.json": ({"kit": "other"}, "belongs to another kit"),
    "judge.json": ({"judge": " "}, "does not name its judge"),
    "item.json": ({"answers": {"999": {"relevance": "A"}}}, "answers item 999"),
    "choice.json": ({"answers": {"1": {"relevance": "C"}}}, "relevance is 'C', not one of A, B, equal"),
    "empty.json": ({"answers": {}}, "holds no answer"),
    "columns.csv": (b"item,judge\n1,x\n", "has no column kit or Input.kit"),
    "twice.csv": (b"kit,item,judge,relevance,readability\nKIT,1,x,A,A\nKIT,1,x,B,A\n", "x answered item 1 in two ways"),
    "binary.csv": (b"\xff\xfe\x00", "not a readable CSV file"),
}


def test_every_bad_file_of_answers_has_its_line(key, kit, tmp_path):
    for name, (content, _) in BAD.items():
        if isinstance(content, bytes):
            (tmp_path / name).write_bytes(content.replace(b"KIT", key.kit.encode()))
        elif content is not None:
            write_answers(tmp_path / name, key, "x", lambda _: {"relevance": "A"}, content)
    good = write_answers(tmp_path / "good.json", key, "x", lambda _: {"relevance": "A"})
    files = [str(good), *(str(tmp_path / name) for name in BAD)]
    result = run_here("-m", "report.human_eval", "tally", "--key", str(kit.with_name("kit.key.json")), *files)
    lines = result.stderr.splitlines()
    assert result.returncode == 2 and result.stdout == ""
    assert len(lines) == len(BAD)
    for line, (name, (_, expected)) in zip(lines, BAD.items(), strict=True):
        assert line.startswith("error: ") and name in line and expected in line


@pytest.mark.parametrize(
    "change",
    [
        {"kit": None}, {"kit": 1}, {"systems": "ab"}, {"systems": ["a"]}, {"systems": [1, 2]}, {"systems": None},
        {"items": {}}, {"items": []}, {"items": {"1": {}}}, {"items": {"1": "A"}},
    ],
)  # fmt: skip
def test_a_key_that_is_none_is_told(kit, tmp_path, change):
    value = json.loads(kit.with_name("kit.key.json").read_text())
    (tmp_path / "key.json").write_text(json.dumps(value | change))
    with pytest.raises(UserError, match=r"key.json is not a key"):
        read_key(tmp_path / "key.json")


@pytest.mark.parametrize("place", ["frist", "", None, ["first"], "equal"])
def test_no_vote_is_lost_by_a_damaged_key(kit, tmp_path, place):
    value = json.loads(kit.with_name("kit.key.json").read_text())
    value["items"]["3"]["A"] = place
    (tmp_path / "key.json").write_text(json.dumps(value))
    with pytest.raises(UserError, match=r"key.json is damaged: item 3 has A = .*, which is neither first nor second"):
        read_key(tmp_path / "key.json")


# --- agreement


def test_kappa_of_the_textbook():
    """Fleiss (1971) as commonly retold: 14 judges, 10 subjects, 5 categories; kappa 0.210."""
    rows = """0 0 0 0 14  0 2 6 4 2  0 0 3 5 6  0 3 9 2 0  2 2 8 1 1
              7 7 0 0 0  3 2 6 3 0  2 5 3 2 2  6 5 2 1 0  0 2 2 3 7"""
    assert fleiss_kappa(np.array(rows.split(), dtype=int).reshape(10, 5)) == pytest.approx(0.210, abs=5e-4)


@given(st.lists(st.lists(st.sampled_from(range(3)), min_size=2, max_size=5), min_size=1, max_size=8))
def test_kappa_is_one_only_if_all_agree_and_below_otherwise(items):
    table = np.array([[Counter(votes)[k] for k in range(len(OUTCOMES))] for votes in items])
    kappa = fleiss_kappa(table)
    all_agree = all(len(set(votes)) == 1 for votes in items)
    if kappa is None:
        assert len({vote for votes in items for vote in votes}) == 1
    else:
        assert (kappa == pytest.approx(1)) == all_agree and kappa < 1 + 1e-9


def test_one_of_two_commands_is_asked_for():
    result = run_here("-m", "report.human_eval", "count")
    assert result.returncode == 2
    assert result.stderr == "error: unknown command count: python -m report.human_eval make|tally\n"
    assert "python -m report.human_eval tally" in run_here("-m", "report.human_eval").stdout
