"""The runner of the reproduction's stages."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest

from pipeline.__main__ import duration, show_plan
from pipeline.stage import Chosen, Found, with_needs
from pipeline.stamps import Stamps, State
from support.errors import UserError
from support.files import write_json


def test_a_stage_runs_after_what_it_needs_and_once(kitchen):
    stages = [kitchen.stage("soup", "onion", "leek"), kitchen.stage("onion"), kitchen.stage("leek", "onion")]
    failed, shown = kitchen.run(*stages)
    assert not failed
    assert (kitchen.folder / "soup").read_text() == "souponionleekonion"
    assert [line.split()[1] for line in shown.splitlines()] == ["onion", "leek", "soup"]
    assert "made soup" in shown
    assert kitchen.run(*stages) == ([], "")
    assert {name: len(kitchen.calls(name)) for name in ("onion", "leek", "soup")} == {"onion": 1, "leek": 1, "soup": 1}


def test_what_changed_is_repeated_and_all_that_needs_it(kitchen):
    onion, leek, soup = kitchen.stage("onion"), kitchen.stage("leek"), kitchen.stage("soup", "onion", "leek")
    kitchen.run(onion, leek, soup)
    counts = lambda: [len(kitchen.calls(name)) for name in ("onion", "leek", "soup")]  # noqa: E731
    changed = replace(leek, command=(*leek.command, "--more"))
    kitchen.run(onion, changed, soup)
    assert counts() == [1, 2, 2]
    (kitchen.folder / "soup").write_text("spilled")
    kitchen.run(onion, changed, soup)
    assert counts() == [1, 2, 3] and (kitchen.folder / "soup").read_text() == "souponionleek--more"
    (kitchen.folder / "onion").unlink()
    kitchen.run(onion, changed, soup)
    assert counts() == [2, 2, 3]  # the same onion as before: there is nothing new to cook
    kitchen.run(onion, changed, soup, force=(changed, soup))
    assert counts() == [2, 3, 4]


def test_times_paths_and_flags_that_may_change_repeat_nothing(kitchen, tmp_path):
    stage = kitchen.stage("roast", "onion", resumes=str(kitchen.folder / "kept"))
    stage = replace(stage, command=(*stage.command, "--max_steps", "3", "--path", str(kitchen.folder)))
    onion = kitchen.stage("onion")
    kitchen.run(onion, stage)
    os.utime(kitchen.folder / "onion", ns=(1, 1))
    os.utime(kitchen.folder / "roast", ns=(1, 1))
    changed = replace(
        stage,
        command=(*stage.command[:2], "--max_steps", "9", "--path", str(tmp_path / "elsewhere"), "--patience", "1"),
    )
    assert kitchen.run(onion, changed) == ([], "")
    kitchen.run(onion, replace(changed, command=(*changed.command, "--lr", "0.1")))
    assert len(kitchen.calls("roast")) == 2


def test_a_record_that_was_moved_with_its_folder_still_counts(kitchen, tmp_path):
    onion, soup = kitchen.stage("onion"), kitchen.stage("soup", "onion")
    kitchen.run(onion, soup)
    there = tmp_path / "there [1]"
    kitchen.folder.rename(there)
    move = lambda text: text.replace(str(kitchen.folder), str(there))  # noqa: E731
    moved = [
        replace(stage, inputs=tuple(map(move, stage.inputs)), outputs=tuple(map(move, stage.outputs)))
        for stage in (onion, soup)
    ]
    assert [Stamps(there / "runs").state(stage) for stage in moved] == [State.DONE, State.DONE]


def test_a_failure_shows_its_log_and_stops_only_what_needs_it(kitchen):
    bad = kitchen.stage("bad", code="print('where it got to'); sys.exit('no salt in the house')")
    after, other = kitchen.stage("after", "bad"), kitchen.stage("other", code="time.sleep(0.5)")
    failed, shown = kitchen.run(bad, after, other)
    assert failed == ["bad"]
    assert "exit code 1" in shown and "no salt in the house" in shown and "where it got to" in shown
    assert kitchen.calls("other") and not kitchen.calls("after")
    assert "made other" in (kitchen.runs / "logs" / "other.log").read_text()


def test_a_stage_that_does_not_write_what_it_should_has_failed(kitchen):
    forgetful = kitchen.stage("cake", outputs=(str(kitchen.folder / "icing"),))
    failed, shown = kitchen.run(forgetful)
    assert failed == ["cake"] and "icing was not written" in shown
    assert Stamps(kitchen.runs).state(forgetful) != State.DONE


def test_a_killed_stage_resumes_if_it_left_something_to_resume(kitchen):
    kept = kitchen.folder / "kept"
    code = "import os\nif len(sys.argv) == 1 and not (f / 'twice').exists(): os.kill(os.getpid(), 9)"
    stage = kitchen.stage("stew", code=code, resumes=str(kept))
    failed, shown = kitchen.run(stage)
    assert failed == ["stew"] and "killed by SIGKILL" in shown
    kitchen.run(stage)
    assert kitchen.calls("stew") == ["call", "call"]
    kept.touch()
    assert kitchen.run(stage)[0] == []
    assert kitchen.calls("stew")[-1] == "call --resume"
    (kitchen.folder / "twice").touch()
    kitchen.run(replace(stage, command=(*stage.command, "--hot")))
    assert kitchen.calls("stew")[-1] == "call --hot"


def test_what_is_replaced_is_set_aside_and_never_lost(kitchen):
    stage = kitchen.stage("pie", replaces=(str(kitchen.folder / "pie"),), anew=("--force",))
    kitchen.run(stage)
    assert kitchen.calls("pie") == ["call"]
    for n, taste in enumerate(("--sweet", "--sour", "--salty"), 1):
        (kitchen.folder / "pie").write_text(f"pie {n}")
        kitchen.run(replace(stage, command=(*stage.command, taste)))
        assert kitchen.calls("pie")[-1] == f"call {taste} --force"
    kept = [(kitchen.runs / "replaced" / "pie" / str(n) / "pie").read_text() for n in (1, 2, 3)]
    assert kept == ["pie 1", "pie 2", "pie 3"]


def test_a_resumed_stage_adds_up_what_its_starts_took(kitchen):
    code = (
        "block = b'x' * (300_000_000 if len(sys.argv) == 1 else 1); end = time.process_time() + 0.4\n"
        "while time.process_time() < end: pass\n"
        "if len(sys.argv) == 1: (f / 'kept').touch(); sys.exit(1)"
    )
    stage = kitchen.stage("stew", code=code, resumes=str(kitchen.folder / "kept"))
    assert kitchen.run(stage)[0] == ["stew"]
    first = Stamps(kitchen.runs).usage(stage)
    assert first.seconds >= 0.4 and first.cpu_seconds >= 0.4 and first.peak_bytes > 300_000_000
    _, shown = kitchen.run(stage)
    both = Stamps(kitchen.runs).usage(stage)
    assert both.seconds >= first.seconds + 0.3 and both.cpu_seconds >= first.cpu_seconds + 0.3
    assert both.peak_bytes >= first.peak_bytes
    assert f"{both.peak_bytes / 2**30:.1f} GB" in shown
    write_json(kitchen.runs / "stages" / "stew.json", {**kitchen.record("stew"), "seconds": 3600.0})
    (kitchen.folder / "stew").unlink()
    (kitchen.folder / "kept").unlink()
    kitchen.run(stage)
    assert Stamps(kitchen.runs).usage(stage).seconds < 3600  # a new start begins from nothing


def test_memory_of_child_processes_counts(kitchen):
    code = "import subprocess\nsubprocess.run([sys.executable, '-c', 'print(len(b\\'x\\' * 300_000_000))'])"
    stage = kitchen.stage("stew", code=code)
    kitchen.run(stage)
    assert Stamps(kitchen.runs).usage(stage).peak_bytes > 300_000_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no /proc")
def test_what_a_killed_run_took_is_noted_while_it_runs(kitchen, monkeypatch):
    monkeypatch.setattr("pipeline.runner._NOTE_EVERY", 0.2)
    noted = []
    monkeypatch.setattr(Stamps, "goes_on", lambda self, stage, usage: noted.append(usage))
    code = "end = time.process_time() + 1\nwhile time.process_time() < end: pass"
    kitchen.run(kitchen.stage("stew", code=code))
    assert noted and noted[-1].seconds > 0.3 and noted[-1].cpu_seconds > 0.1 and noted[-1].peak_bytes > 1_000_000


def test_the_plan_shows_what_stages_took(kitchen, capsys):
    done, new = kitchen.stage("done"), kitchen.stage("new", "done", minutes=7)
    kitchen.run(done)
    record = {**kitchen.record("done"), "seconds": 3605.0, "peak_bytes": 2**31}
    write_json(kitchen.runs / "stages" / "done.json", record)
    show_plan([done, new], Stamps(kitchen.runs), 2, "measured", forced=[])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["done", "done", "2.0", "GB", "took", "1:00:05"]
    assert lines[1].split() == ["new", "to", "do", "7.0", "min"]
    assert lines[-1] == "1 of 2 stages, about 7 min (measured)"


def test_the_plan_shows_a_forced_stage_and_what_needs_it_as_open(kitchen, capsys):
    onion, soup, bread = kitchen.stage("onion"), kitchen.stage("soup", "onion"), kitchen.stage("bread")
    kitchen.run(onion, soup, bread)
    show_plan([onion, soup, bread], Stamps(kitchen.runs), 1, "measured", forced=[onion])
    states = [" ".join(line.split()[1:3]) for line in capsys.readouterr().out.splitlines()[:3]]
    assert states[:2] == ["to do", "to do"] and states[2].startswith("done")


def test_two_run_at_a_time(kitchen):
    meet = "(f / 'on-{0}').touch()\nwhile not (f / 'on-{1}').exists(): time.sleep(0.01)"
    stages = [kitchen.stage(us, code=meet.format(us, them)) for us, them in ("ab", "ba")]
    assert kitchen.run(*stages)[0] == []


@pytest.mark.parametrize(("jobs", "alone"), [(2, True), (1, False)])
def test_a_timed_stage_runs_alone_and_no_more_run_than_jobs(kitchen, jobs, alone):
    code = "(f / 'on-{0}').touch(); time.sleep(0.2)\nprint(len(list(f.glob('on-*'))))\n(f / 'on-{0}').unlink()"
    stages = [kitchen.stage(name, code=code.format(name), alone=alone and name == "timed") for name in ("a", "timed")]
    kitchen.run(*stages, jobs=jobs)
    logs = [(kitchen.runs / "logs" / f"{stage.name}.log").read_text().splitlines() for stage in stages]
    assert [lines[-2] for lines in logs] == ["1", "1"]


def test_arguments_of_earlier_stages_are_read_when_a_stage_begins(kitchen, tmp_path):
    chosen, found = tmp_path / "n.json", tmp_path / "vectors.7k.bin"
    late = (Chosen(str(chosen), "n_ext"), Found(str(tmp_path / "vectors.*.bin")))
    stage = kitchen.stage("dish")
    stage = replace(stage, command=(*stage.command, *late), inputs=(str(chosen),))
    with pytest.raises(UserError):
        stage.arguments()
    write_json(chosen, {"n_ext": 4})
    found.touch()
    kitchen.run(stage)
    assert kitchen.calls("dish") == [f"call 4 {found}"]


def test_printed_text_is_a_file_without_the_messages(kitchen):
    printed = kitchen.folder / "out" / "menu.txt"
    code = "print('warning', file=sys.stderr)"
    _, shown = kitchen.run(kitchen.stage("menu", code=code, prints=str(printed)))
    assert printed.read_text() == "made menu\n" and "made menu" in shown
    assert "warning" in (kitchen.runs / "logs" / "menu.log").read_text()


def test_the_duration_is_the_longest_chain_or_the_shared_work(kitchen):
    stamps = Stamps(kitchen.runs)
    a, b, c = (kitchen.stage(name, *needed, minutes=10) for name, needed in (("a", ()), ("b", ("a",)), ("c", ())))
    assert duration([a, b, c], stamps, jobs=2) == 20
    assert duration([a, b, c], stamps, jobs=1) == 30
    for wide in ("alone", "all_cores"):
        assert duration([a, c, replace(b, inputs=(), **{wide: True})], stamps, jobs=2) == 20
    kitchen.run(a)
    assert stamps.minutes(a) < 1


def test_with_needs_keeps_the_order(kitchen):
    a, b, c, d = kitchen.stage("a"), kitchen.stage("b", "a"), kitchen.stage("c"), kitchen.stage("d", "b")
    assert with_needs([d], [a, b, c, d]) == [a, b, d]
