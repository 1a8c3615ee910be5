"""The benchmarks run and print what they promise; their figures depend on the machine."""

from __future__ import annotations

import re

import torch
from commands import complaint, run_here

from scripts.bench_gpu import first_sentences


def printed(*command: object) -> str:
    done = run_here(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_training_steps_are_compared_with_the_plain_loop(monkeypatch):
    monkeypatch.delenv("DATA", raising=False)
    output = printed("-m", "scripts.bench_train", "--batch", 2, "--steps", 1)
    for stage in ("extractor", "abstractor"):
        assert re.search(rf"^{stage} +\d+\.\d+s +\d+\.\d+s +\d+\.\dx +\d+\.\d +\d+%$", output, re.MULTILINE), output


def test_decoding_is_compared_with_the_plain_loop(data, golden):
    flags = ["--data_dir", data, "--split", "test", "--articles", 4, "--repeat", 1]
    output = printed("-m", "scripts.bench_decode", *flags, "--model_dir", golden / "rl")
    for search in ("greedy", "beam 5 + rerank"):
        assert re.search(rf"^{re.escape(search)} .* articles/s .* words/s .* vocabulary product \d+%$", output, re.M)
    assert output.count("equal summaries 100.0%") == 2


def test_every_stage_is_timed_beside_the_papers_gpu(monkeypatch):
    monkeypatch.delenv("DATA", raising=False)
    output = printed("-m", "scripts.bench_gpu", "--device", "cpu", "--batch", 2, "--updates", 1, "--articles", 1)
    rows = re.findall(r"^\| (.+?) \| (\S+) \| (\S*) \|$", output, re.MULTILINE)
    stages = ("rnn-ext", "ff-ext", "abstractor", "pointer-generator", "RL", *["decoding"] * 3)
    assert [label.startswith(stage) for (label, _, _), stage in zip(rows, stages, strict=True)] == [True] * 8
    assert all(float(seconds) > 0 for _, seconds, _ in rows)
    assert [paper for _, _, paper in rows] == [*[""] * 5, "0.213", "0.627", "4.04"]  # updates of 32 items only


def test_data_that_is_too_small_for_the_papers_sizes_is_told_in_one_line(data):
    assert "30,000 words" in complaint("-m", "scripts.bench_train", "--data_dir", data)
    assert "30,000 words" in complaint("-m", "scripts.bench_decode", "--data_dir", data, "--split", "test")


def test_the_gpu_benchmark_extracts_as_many_sentences_as_it_says():
    choose, counts = first_sentences(4), torch.tensor([2, 9, 4, 30])
    stop = int(counts.max())
    scores = torch.rand(len(counts), stop + 1)
    scores[:, :stop].masked_fill_(torch.arange(stop) >= counts[:, None], float("-inf"))
    taken = torch.zeros(len(counts), dtype=torch.int64)
    for _ in range(5):
        chosen = choose(scores)
        taken += chosen < stop
        scores = scores.scatter(1, chosen[:, None].clamp(max=stop - 1), float("-inf"))
    assert taken.tolist() == [2, 4, 4, 4]
