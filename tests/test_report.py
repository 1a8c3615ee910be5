"""The page of a reproduction, its charts and examples."""

from __future__ import annotations

import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from browser import chromium, complaints, set_window
from commands import run_here
from synthetic_runs import Summary, make_runs, write_metrics, write_run

from data.articles import Article, article_path, write_article
from report import charts, curve
from report import page as page_module
from report.examples import choose_examples, example_html
from report.page import page
from report.runs import Reproduction
from report.tables import OF_THE_PAPER
from support.errors import UserError


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("reproduction")
    return make_runs(root / "runs", root / "data"), root / "data"


@pytest.fixture(scope="module")
def whole_page(made) -> str:
    return page(Reproduction(made[0], str(made[1])), n_examples=2)


class Tags(HTMLParser):
    """Opening and closing tags match, and ids are given once."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.problems: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in ("meta", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)


def test_the_page_is_well_formed_html(whole_page):
    tags = Tags(whole_page)
    assert not tags.problems and not tags.open
    assert len(tags.ids) == len(set(tags.ids))


def test_the_page_has_every_part(whole_page):
    headings = re.findall(r"<h2>(.*?)</h2>", whole_page)
    assert headings == ["Claims", "Tables", "Learning curves", "Extraction", "Novelty", "Examples", "Runs"]
    assert whole_page.count("<svg") == 3 + 2 + 1  # models, counts and positions, novelty
    assert whole_page.count('<article class="example">') == 2
    assert "rouge-1.5.5|in-process" in whole_page


def test_the_page_loads_nothing_from_elsewhere(whole_page):
    loaded = re.findall(r'(?:src|href|url\()\s*=?\s*["\']?([^"\')\s>]+)', whole_page)
    assert all(target.startswith("#") for target in loaded)


def test_charts_take_the_colours_of_the_theme(whole_page):
    drawings = "".join(re.findall(r"<svg.*?</svg>", whole_page, flags=re.DOTALL))
    assert "var(--series-0)" in drawings and "var(--ink)" in drawings
    assert not [colour for colour in (*charts.SERIES, charts.INK, charts.GRID) if colour in drawings]


def test_parts_that_need_articles_are_left_out_without_them(made):
    headings = re.findall(r"<h2>(.*?)</h2>", page(Reproduction(made[0]), n_examples=2))
    assert headings == ["Claims", "Tables", "Learning curves", "Extraction", "Runs"]


def test_a_page_of_nothing_evaluated_is_a_page(tmp_path):
    (tmp_path / "decode").mkdir()
    text = page(Reproduction(tmp_path), n_examples=2)
    assert "nothing evaluated yet" in text and not Tags(text).problems


@pytest.fixture(scope="module")
def browser(whole_page, tmp_path_factory):
    """Chromium that shows the page."""
    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(whole_page, encoding="utf-8")
    with chromium(folder) as driver:
        driver.get((folder / "report.html").as_uri())
        yield driver


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_window_of_a_browser(browser, width):
    set_window(browser, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width)"
    )
    assert len(sizes) == 6 and all(250 < size <= width for size in sizes)
    assert complaints(browser) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_on_both_backgrounds(browser, scheme):
    """Contrast of 4.5 to 1 for the text of the page, and for extracted sentences and their numbers on their colours."""
    set_window(browser, 1280, scheme)
    background = _rgb(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    names = ["--ink", "--soft"]
    script = """const p = document.body.appendChild(document.createElement("p"));
                p.style.color = `var(${arguments[0]})`;
                return getComputedStyle(p).color"""
    colours = {name: _rgb(browser.execute_script(script, name)) for name in names}
    assert (sum(background) > 380) == (scheme == "light")
    assert {name for name, colour in colours.items() if _contrast(colour, background) < 4.5} == set()
    marks = browser.execute_script(
        "return [...document.querySelectorAll('mark')].map(m => [m, m.querySelector('.number')].map("
        "e => getComputedStyle(e).color).concat(getComputedStyle(m).backgroundColor))"
    )
    assert len(marks) > 4
    for text, number, own_background in marks:
        assert min(_contrast(_rgb(colour), _rgb(own_background)) for colour in (text, number)) >= 4.5


@pytest.mark.parametrize("width", [1280, 400])
def test_a_table_that_is_too_wide_scrolls_and_says_so(browser, width):
    set_window(browser, width)
    script = """return [...document.querySelectorAll('.scroll')].map(box => [
        box.scrollWidth > box.clientWidth,
        getComputedStyle(box.previousElementSibling).display !== 'none',
        getComputedStyle(box).backgroundImage.split('gradient').length - 1,
        box.tabIndex])"""
    boxes = browser.execute_script(script)
    assert len(boxes) == len(OF_THE_PAPER)
    for overflows, hint, shadows, tab_index in boxes:
        assert overflows == hint == (width == 400)
        assert shadows == 4 and tab_index == 0  # shadows at the edges behind which there is more


def _rgb(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)[:3]]


def _contrast(a: list[int], b: list[int]) -> float:
    """As the web's accessibility guidelines define it."""
    linear = [[c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour] for colour in (a, b)]
    light, dark = sorted((0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in linear), reverse=True)
    return (light + 0.05) / (dark + 0.05)


# --- examples


@pytest.fixture
def one_article(tmp_path) -> Reproduction:
    article = Article("x", ["the cat sat <there> .", "no one came .", "a dog ate it ."], ["a dog ate .", "a cat sat ."])
    (tmp_path / "data/test").mkdir(parents=True)
    write_article(article_path(tmp_path / "data", "test", 0), article)
    summary = Summary([2, 0], ["dog ate &lt;it&gt; .", "cat sat ."])
    write_run(tmp_path / "runs/decode/rnn_ext_abs_rl", [summary], [article])
    write_run(tmp_path / "runs/decode/rnn_ext_abs_rl_rerank", [Summary([2, 0], ["a dog ate .", ""])], [article])
    return Reproduction(tmp_path / "runs", str(tmp_path / "data"))


def test_a_rewriting_has_the_colour_of_its_source(one_article):
    (example,) = choose_examples(one_article, count=4)
    assert [sentence.number for sentence in example.source] == [2, None, 1]
    assert [[s.number for s in system.sentences] for system in example.systems] == [[1, 2], [1, 2]]
    text = example_html(example)
    marks = [f'<mark style="--hue:{hue}"><span class="number">{n}</span>' for n, hue in ((1, 138), (2, 275))]
    assert f"{marks[1]}the cat sat &lt;there&gt; .</mark> no one came ." in text
    assert f"{marks[0]}dog ate &lt;it&gt; .</mark>" in text
    assert '<span class="number">2</span><i>(empty)</i></mark>' in text


def test_examples_carry_their_own_rouge(one_article):
    (example,) = choose_examples(one_article, count=1)
    first, second = example.systems
    # Of 6 words "dog ate it cat sat", without the brackets' lt and gt, and of 3 words against 6.
    assert second.rouge[0] == pytest.approx(100 * 2 * 1.0 * 0.5 / 1.5, abs=0.01)
    assert 0 < first.rouge[1] < first.rouge[0] < 100
    assert f"ROUGE-1: {second.rouge[0]:.2f}" in example_html(example)


def test_examples_are_the_same_each_time_and_not_the_first(made):
    runs = Reproduction(made[0], str(made[1]))
    numbers = [example.article for example in choose_examples(runs, 3)]
    assert numbers == [example.article for example in choose_examples(runs, 3)] != [0, 1, 2]


def test_examples_are_of_the_articles_that_are_asked_for(made):
    runs = Reproduction(made[0], str(made[1]))
    assert [example.article for example in choose_examples(runs, 1, [7, 2])] == [7, 2]
    with pytest.raises(UserError, match="has no article 99999 to show"):
        choose_examples(runs, 1, [99999])
    with pytest.raises(UserError, match="need the articles"):
        choose_examples(Reproduction(made[0]), 1, [7])


def test_the_page_bears_any_text(one_article, monkeypatch, capsys):
    """A lone surrogate in an article, markup in a log."""
    data, runs = Path(one_article.data_dir), one_article.path
    article = Article("x", ["the \ud800 cat .", "no one came .", "a dog ate it ."], ["a dog ate .", "a cat sat ."])
    write_article(article_path(data, "test", 0), article)
    log = runs / "decode/rnn_ext_abs_rl/log.json"
    log.write_text(log.read_text().replace('"beam": 1', '"beam": "<script>"'))
    monkeypatch.setattr(sys, "argv", ["page", str(runs), "--data_dir", str(data), "--articles", "0"])
    page_module.main()
    text = (runs / "report.html").read_text(encoding="utf-8")
    assert "the ? cat ." in text and "beam &lt;script&gt;" in text and "<script>" not in text


@pytest.mark.parametrize("row", ["rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank"])
def test_sources_of_other_articles_are_refused(one_article, row):
    """Sources of some articles alone would have the page and the claims look for the others in vain."""
    path = one_article.path / "decode" / row / "alignment.jsonl"
    path.write_text(path.read_text().replace('"article": 0', '"article": 1'))
    with pytest.raises(UserError, match=rf"missing article 0 in .*{row}/alignment\.jsonl"):
        page_module.page(one_article, n_examples=1)


def test_rows_of_other_articles_are_refused(one_article):
    output = one_article.path / "decode/rnn_ext_abs_rl_rerank/output"
    (output / "0.dec").rename(output / "1.dec")
    with pytest.raises(UserError, match=r"missing .*rnn_ext_abs_rl_rerank/output/0\.dec"):
        _ = one_article.reference_sentences


def test_the_positions_of_ff_ext_are_those_of_its_best_sentences(one_article):
    """Its sentences are in document order, so the first ones are not the best."""
    path = one_article.path / "decode/ff_ext"
    shutil.copytree(one_article.path / "decode/rnn_ext_abs_rl", path)
    (path / "output").rename(path / "output_top2")
    (path / "scores.json").rename(path / "top2_scores.json")
    log = json.loads((path / "log.json").read_text())
    (path / "log.json").write_text(json.dumps({**log, "extractor": {"net": "ml_ff_extractor"}, "n_ext": 3}))
    sentences = [{"source": k, "extraction_score": score} for k, score in enumerate((0.1, 0.9, 0.5))]
    (path / "alignment.jsonl").write_text(json.dumps({"article": 0, "sentences": sentences}))
    run = Reproduction(one_article.path).run("ff_ext")
    assert run is not None and run.sources == {0: [1, 2]}


# --- charts


def test_a_training_curve_is_thinned_by_means_and_validation_is_not():
    metrics = [{"step": s, "loss": float(s % 2)} for s in range(1, 1201)] + [{"step": 800, "val_metric": 3.0}]
    (panel,) = charts.learning_curves([("", metrics)]).axes
    training, validation = panel.lines
    assert np.size(training.get_xdata()) <= 100
    assert training.get_ydata() == pytest.approx(0.5)
    assert np.array_equal(validation.get_ydata(), [3.0])


def test_counts_and_positions_are_shares():
    figure = charts.count_histogram({"ours": [2, 2, 3, 5], "reference": [3, 3, 3, 3]})
    heights = [[bar.get_height() for bar in bars] for bars in figure.axes[0].containers]
    assert heights == [[50, 25, 0, 25], [0, 100, 0, 0]]
    (line,) = charts.position_chart({"lead": [0, 1, 0, 99]}, last=4).axes[0].lines
    assert np.array_equal(line.get_ydata(), [50, 25, 0, 0, 25])


def test_runs_with_rewards_show_the_reward_and_others_the_loss():
    reinforced, supervised = [{"step": 1, "loss": 1.0, "reward": 0.5}], [{"step": 1, "loss": 1.0}]
    figure = charts.learning_curves([("rl", reinforced), ("abs", supervised), ("ext", supervised)])
    labels = [[axes.get_ylabel() for axes in part.axes] for part in figure.subfigs]
    assert labels == [["average reward", "sentences", "stop rate"], ["loss"], ["loss"], []]
    assert [part.get_suptitle() for part in figure.subfigs] == ["rl", "abs", "ext", ""]
    assert not charts.has_curve([{"step": 1, "lr": 0.1}])


def draw(monkeypatch, capsys, *arguments: object) -> Path:
    monkeypatch.setattr(sys, "argv", ["curve", *map(str, arguments)])
    curve.main()
    return Path(capsys.readouterr().out.strip())


def test_the_curve_command_draws_a_picture_beside_the_model(tmp_path, monkeypatch, capsys):
    write_metrics(tmp_path / "rl", reinforced=True)
    with open(tmp_path / "rl/metrics.jsonl", "a") as file:
        file.write('{"step": 61, "rew')  # cut off by a kill
    written = draw(monkeypatch, capsys, tmp_path / "rl")
    assert written == tmp_path / "rl/learning_curve.png" and written.read_bytes().startswith(b"\x89PNG")


def test_long_runs_share_one_light_file(tmp_path, monkeypatch, capsys):
    runs = [tmp_path / name for name in ("ext_rnn", "abs", "rl")]
    for run in runs:
        write_metrics(run, reinforced=run.name == "rl", updates=20000, validate_every=1000)
    written = draw(monkeypatch, capsys, *runs, "--out", tmp_path / "c.svg")
    text = written.read_text()
    assert written == tmp_path / "c.svg" and len(text) < 80_000
    assert all(f">{title}<" in text for title in ("rnn-ext", "abs", "rnn-ext + abs + RL", "loss", "average reward"))


def test_the_curve_of_nothing_is_told(tmp_path, monkeypatch, capsys):
    with pytest.raises(UserError, match=r"metrics\.jsonl does not exist"):
        draw(monkeypatch, capsys, tmp_path)
    (tmp_path / "metrics.jsonl").touch()
    with pytest.raises(UserError, match="neither reward nor loss"):
        draw(monkeypatch, capsys, tmp_path)
    with pytest.raises(UserError, match=r"must end in \.png or \.svg"):
        draw(monkeypatch, capsys, tmp_path, "--out", tmp_path / "c.gif")
    with pytest.raises(UserError, match="folder does not exist"):
        draw(monkeypatch, capsys, tmp_path, "--out", tmp_path / "no" / "c.svg")


def test_the_page_command_writes_the_page(made, tmp_path):
    shutil.copytree(made[0], tmp_path / "runs")
    arguments = ("--data_dir", str(made[1]), "--split", "test", "--examples", "1")
    result = run_here("-m", "report.page", str(tmp_path / "runs"), *arguments)
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "runs/report.html").read_text(encoding="utf-8")
    assert text.count('<article class="example">') == 1
    assert result.stdout.strip().endswith("report.html")


@pytest.mark.parametrize("line", ['{"step": "x", "loss": 1}', '{"step": 1, "loss": "x"}', "[1]", '{"loss": 1}', "\0"])
def test_a_line_that_is_no_measurement_is_left_out_of_the_curve(tmp_path, monkeypatch, capsys, line):
    write_metrics(tmp_path / "rl", reinforced=False)
    without = draw(monkeypatch, capsys, tmp_path / "rl").read_bytes()
    with open(tmp_path / "rl/metrics.jsonl", "a") as file:
        file.write(line + "\n")
    assert draw(monkeypatch, capsys, tmp_path / "rl").read_bytes() == without
