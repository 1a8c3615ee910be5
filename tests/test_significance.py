"""The paired bootstrap: against exact probabilities, against a loop, and on METEOR's summed statistics."""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest

from metrics import meteor, significance
from metrics.bootstrap import Averages
from metrics.scores import MeteorScores, RougeScores, Scores, load_scores, save_scores
from support.errors import UserError, run


def scores_of(f: np.ndarray, statistics: np.ndarray | None = None) -> Scores:
    """A system with the given ROUGE F (documents,), the same for all three metrics."""
    documents = np.repeat(f[:, None, None], 3, axis=1).repeat(3, axis=2)
    rouge = RougeScores("signature", Averages(*np.zeros((3, 3, 3))), documents)
    found = MeteorScores("signature", 0.5, statistics) if statistics is not None else None
    return Scores(tuple(range(len(f))), "outputs", "references", rouge, found)


def random_statistics(rng: np.random.Generator, documents: int) -> np.ndarray:
    """Statistics that a run of METEOR could have given: matches within words."""
    rows = np.zeros((documents, meteor.STATISTICS))
    matches = rng.integers(1, 9, documents)
    rows[:, [4, 5, meteor.TEST_MATCHES, meteor.REFERENCE_MATCHES]] = matches[:, None]
    rows[:, [meteor.TEST_WORDS, meteor.REFERENCE_WORDS]] = matches[:, None] + rng.integers(0, 9, (documents, 2))
    rows[:, meteor.CHUNKS] = rng.integers(1, matches + 1)
    return rows


def test_p_of_two_documents_is_known_exactly():
    """One document won by 0.2, one lost by 0.1: a is not better only if the lost one is drawn twice, 1 in 4."""
    row = significance.compare(scores_of(np.array([0.5, 0.2])), scores_of(np.array([0.3, 0.3])), 40_000)[0]
    assert row.metric == "rouge-1" and row.a == pytest.approx(0.35) and row.b == pytest.approx(0.3)
    assert row.p_a_better == pytest.approx(0.25, abs=0.01)
    assert row.p_b_better == pytest.approx(0.75, abs=0.01)


def test_equal_systems_are_never_better():
    rng = np.random.default_rng(0)
    system = scores_of(np.round(rng.random(50), 5), random_statistics(rng, 50))
    for row in significance.compare(system, system, 500):
        assert row.p_a_better == row.p_b_better == 1


def test_a_clear_difference_is_significant_in_all_metrics():
    rng = np.random.default_rng(0)
    worse = np.round(rng.random(100) * 0.8, 5)
    few = random_statistics(rng, 100)
    many = few.copy()
    many[:, [meteor.TEST_WORDS, meteor.REFERENCE_WORDS]] = few[:, [4, 5]]
    rows = significance.compare(scores_of(worse + 0.1, many), scores_of(worse, few), 1000)
    assert [row.metric for row in rows] == ["rouge-1", "rouge-2", "rouge-l", "meteor"]
    assert all(row.p_a_better == 0 and row.p_b_better == 1 for row in rows)


def test_samples_equal_a_loop_over_documents():
    """The same draws, one document at a time; METEOR is taken of the sample's summed statistics."""
    rng = np.random.default_rng(1)
    f, statistics = np.round(rng.random((2, 20)), 5), [random_statistics(rng, 20) for _ in range(2)]
    a, b = (scores_of(f[k], statistics[k]) for k in range(2))
    found = significance.compare(a, b, samples=300, seed=3)
    draws = np.random.default_rng(3)
    picks = np.concatenate([draws.integers(20, size=(200, 20)), draws.integers(20, size=(100, 20))])
    rouge = [sum(f[0][i] for i in row) <= sum(f[1][i] for i in row) + 1e-9 for row in picks]
    in_meteor = [
        meteor.score(sum(statistics[0][i] for i in row)) <= meteor.score(sum(statistics[1][i] for i in row))
        for row in picks
    ]
    assert found[0].p_a_better == np.mean(rouge) and found[3].p_a_better == np.mean(in_meteor)
    assert 0 < np.mean(rouge) < 1 and 0 < np.mean(in_meteor) < 1


def test_seed_decides():
    rng = np.random.default_rng(2)
    a, b = scores_of(np.round(rng.random(30), 5)), scores_of(np.round(rng.random(30), 5))
    assert significance.compare(a, b, 500, seed=1) == significance.compare(a, b, 500, seed=1)
    assert significance.compare(a, b, 500, seed=1) != significance.compare(a, b, 500, seed=2)


def test_scores_file_is_read_back(tmp_path):
    rng = np.random.default_rng(0)
    scores = scores_of(np.round(rng.random(5), 5), random_statistics(rng, 5))
    save_scores(scores, tmp_path / "scores.json")
    found = load_scores(tmp_path / "scores.json")
    assert (found.ids, found.outputs, found.references) == (scores.ids, scores.outputs, scores.references)
    assert found.rouge and scores.rouge and np.array_equal(found.rouge.documents, scores.rouge.documents)
    assert found.meteor and scores.meteor and np.array_equal(found.meteor.statistics, scores.meteor.statistics)


DAMAGES = {
    "not an object": lambda value: [value],
    "a field less": lambda value: {name: value[name] for name in value if name != "outputs"},
    "a document less": lambda value: {**value, "ids": value["ids"][1:]},
    "a document twice": lambda value: {**value, "ids": [0, *value["ids"][:-1]]},
    "no documents": lambda value: {**value, "ids": []},
    "ids that are words": lambda value: {**value, "ids": [str(i) for i in value["ids"]]},
    "a number as digest": lambda value: {**value, "references": 3},
    "rouge is a word": lambda value: {**value, "rouge": "good"},
    "rouge is empty": lambda value: {**value, "rouge": {}},
    "nan": lambda value: {**value, "meteor": {**value["meteor"], "score": float("nan")}},
    "a huge number": lambda value: {**value, "meteor": {**value["meteor"], "score": 10**400}},
    "statistics cut": lambda value: {**value, "meteor": {**value["meteor"], "statistics": [[1]] * 5}},
    "statistics ragged": lambda value: {**value, "meteor": {**value["meteor"], "statistics": [[1], [1, 2]]}},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_scores_file_is_one_line_that_names_it(tmp_path, damage):
    rng = np.random.default_rng(0)
    path = tmp_path / "scores.json"
    save_scores(scores_of(np.round(rng.random(5), 5), random_statistics(rng, 5)), path)
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))
    with pytest.raises(UserError, match=r"scores\.json is not a scores\.json of this project: evaluate"):
        load_scores(path)


@pytest.mark.parametrize("place", ["scores.json", "output/scores.json", "top3_scores.json", "output_top3/scores.json"])
def test_scores_are_found_where_the_evaluation_scripts_put_them(tmp_path, place):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    save_scores(scores_of(np.array([0.5])), tmp_path / place)
    assert significance.find_scores(tmp_path) == significance.find_scores(tmp_path / place) == tmp_path / place


def test_one_of_several_evaluations_is_asked_for(tmp_path):
    for n in (2, 3):
        save_scores(scores_of(np.array([0.5])), tmp_path / f"top{n}_scores.json")
    with pytest.raises(UserError, match=r"several ways: name one of .*top2_scores.json, .*top3_scores.json"):
        significance.find_scores(tmp_path)


def test_several_systems_are_compared_on_the_same_samples():
    rng = np.random.default_rng(4)
    systems = [scores_of(np.round(rng.random(30), 5), random_statistics(rng, 30)) for _ in range(3)]
    together = significance.compare_all(systems[0], systems[1:], 500, seed=1)
    assert together == [significance.compare(systems[0], other, 500, seed=1) for other in systems[1:]]


def test_different_documents_or_references_are_refused():
    system = scores_of(np.array([0.5, 0.2]))
    with pytest.raises(UserError, match=r"missing 1\.dec of the second system"):
        significance.compare(system, dataclasses.replace(scores_of(np.array([0.5])), ids=(0,)))
    with pytest.raises(UserError, match="different references"):
        significance.compare(system, dataclasses.replace(system, references="others"))
    with pytest.raises(UserError, match="share no metric"):
        significance.compare(system, dataclasses.replace(system, rouge=None))


def test_command_prints_a_table_and_complains_in_one_line(tmp_path, monkeypatch, capsys):
    for name, values in {"a": [0.5, 0.2], "b": [0.3, 0.3]}.items():
        (tmp_path / name).mkdir()
        save_scores(scores_of(np.array(values)), tmp_path / name / "scores.json")
    command = ["significance", str(tmp_path / "a"), str(tmp_path / "b" / "scores.json"), "--samples", "1000"]
    monkeypatch.setattr(sys, "argv", command)
    significance.main()
    out = capsys.readouterr().out
    assert "2 documents, 1,000 samples" in out and "rouge-l       35.00    30.00    +5.00" in out
    monkeypatch.setattr(sys, "argv", ["significance", str(tmp_path), str(tmp_path / "b")])
    with pytest.raises(SystemExit) as stopped:
        run(significance.main)
    complaint = capsys.readouterr().err
    assert stopped.value.code == 2 and complaint.count("\n") == 1 and "evaluate that system first" in complaint
