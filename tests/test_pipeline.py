"""The runner of the reproduction's stages."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.__main__ import duration, in_use, show_plan
from pipeline.digests import Digests
from pipeline.display import Display
from pipeline.runner import Runner
from pipeline.stage import Chosen, Found, Stage, with_needs
from pipeline.stamps import Stamps, State
from support.errors import UserError
from support.files import read_json, write_json
from training.record import TrainingRecord

ROOT = Path(__file__).parents[1]


class Kitchen:
    """Stages that write their own name, their flags and their inputs' texts, and a count of how often each was run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, folder / "runs"
        folder.mkdir(exist_ok=True)

    def stage(self, name: str, *inputs: str, code: str = "", **options) -> Stage:
        program = (
            f"import sys, time, pathlib; f = pathlib.Path({str(self.folder)!r})\n"
            f"open(f / '{name}.calls', 'a').write(' '.join(['call', *sys.argv[1:]]) + '\\n')\n"
            f"{code}\n"
            f"texts = [(f / name).read_text() for name in {inputs!r}]\n"
            f"(f / '{name}').write_text(''.join(['{name}', *sys.argv[1:], *texts]))\n"
            f"print('made {name}')"
        )
        paths = tuple(str(self.folder / i) for i in inputs)
        options = {"outputs": (str(self.folder / name),), **options}
        return Stage(name=name, command=("-c", program), inputs=paths, **options)

    def run(self, *stages: Stage, force: tuple[Stage, ...] = (), jobs: int = 2) -> tuple[list[str], str]:
        """Names of failed stages, and what was shown."""
        shown = io.StringIO()
        with in_use(self.runs) as lock, redirect_stdout(shown):
            failed = Runner(self.runs, jobs, lock, Display()).run(stages, force)
        return [stage.name for stage in failed], shown.getvalue()

    def calls(self, name: str) -> list[str]:
        path = self.folder / f"{name}.calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def kitchen(tmp_path) -> Kitchen:
    """In a folder whose name would be a pattern."""
    return Kitchen(tmp_path / "kitchen [1]")


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


def digest(pattern: Path, kept_in: Path) -> str:
    return Digests(kept_in).of(str(pattern))


def test_a_digest_sees_files_that_come_change_and_go_but_no_hidden_ones(tmp_path):
    pattern = tmp_path / "data" / "*"
    assert digest(pattern, tmp_path) == ""
    (tmp_path / "data" / "train").mkdir(parents=True)
    seen = [digest(pattern, tmp_path)]
    for change in (
        lambda: (tmp_path / "data" / "train" / "0.json").write_text("a"),
        lambda: (tmp_path / "data" / "train" / "1.json").write_text("b"),
        lambda: (tmp_path / "data" / "train" / "0.json").write_text("c"),
        lambda: (tmp_path / "data" / "train" / "1.json").rename(tmp_path / "data" / "train" / "2.json"),
        lambda: (tmp_path / "data" / "train" / "2.json").unlink(),
    ):
        change()
        seen.append(digest(pattern, tmp_path))
    assert len(set(seen)) == len(seen)
    (tmp_path / "data" / "train" / ".0.json.half").write_text("x")
    assert digest(pattern, tmp_path) == seen[-1]


def test_a_digest_is_of_contents_wherever_and_whenever_they_were_written(tmp_path):
    for folder in ("here", "there [1]"):
        (tmp_path / folder / "train").mkdir(parents=True)
        (tmp_path / folder / "train" / "0.json").write_text("a")
    first = digest(tmp_path / "here" / "train", tmp_path)
    assert first and digest(tmp_path / "there [1]" / "train", tmp_path) == first
    os.utime(tmp_path / "here" / "train" / "0.json", ns=(1, 1))
    assert digest(tmp_path / "here" / "train", tmp_path) == first


def test_contents_are_read_once_as_long_as_size_and_time_stay(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("a")
    digests = Digests(tmp_path)
    first = digests.of(str(tmp_path / "file"))
    digests.save()

    def never(*_):
        raise AssertionError("read again")

    monkeypatch.setattr("pipeline.digests._read", never)
    assert digest(tmp_path / "file", tmp_path) == first
    os.utime(tmp_path / "file", ns=(1, 1))
    with pytest.raises(AssertionError, match="read again"):
        digest(tmp_path / "file", tmp_path)
    for damaged in ("[]", "[", '{"file": 5}'):
        (tmp_path / ".digests.json").write_text(damaged)
        with pytest.raises(AssertionError, match="read again"):
            digest(tmp_path / "file", tmp_path)


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
    assert both.seconds >= first.seconds + 0.4 and both.cpu_seconds >= first.cpu_seconds + 0.4
    assert both.peak_bytes == first.peak_bytes
    assert f"{both.peak_bytes / 2**30:.1f} GB" in shown
    (kitchen.folder / "stew").unlink()
    (kitchen.folder / "kept").unlink()
    kitchen.run(stage)
    assert Stamps(kitchen.runs).usage(stage).seconds < both.seconds + 0.4  # a new start begins from nothing


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
    record = {**read_record(kitchen, "done"), "seconds": 3605.0, "peak_bytes": 2**31}
    write_json(kitchen.runs / "stages" / "done.json", record)
    show_plan([done, new], Stamps(kitchen.runs), 2, "measured")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["done", "done", "2.0", "GB", "took", "1:00:05"]
    assert lines[1].split() == ["new", "to", "do", "7.0", "min"]
    assert lines[-1] == "1 of 2 stages, about 7 min (measured)"


def read_record(kitchen: Kitchen, name: str) -> dict:
    return read_json(kitchen.runs / "stages" / f"{name}.json")


# --- models from elsewhere


@pytest.fixture
def model(kitchen):
    """A stage that makes a model of what another stage makes."""
    outputs = tuple(str(kitchen.folder / "model" / name) for name in ("ckpt", "meta.json"))
    code = "(f / 'model').mkdir(exist_ok=True); [(f / 'model' / n).write_text('own') for n in ('ckpt', 'meta.json')]"
    folder = str(kitchen.folder / "model")
    return kitchen.stage("cook", "onion", code=code, outputs=outputs, replaces=(folder,), adopted=True)


def put_model(kitchen) -> None:
    (kitchen.folder / "model").mkdir()
    for name in ("ckpt", "meta.json"):
        (kitchen.folder / "model" / name).write_text("theirs")


def test_a_finished_model_is_adopted_and_needs_nothing(kitchen, model):
    onion = kitchen.stage("onion")
    put_model(kitchen)
    stamps = Stamps(kitchen.runs)
    assert stamps.state(model) == State.FOUND
    stages = with_needs([model], [onion, model], stamps.needs_nothing)
    assert stages == [model]
    assert "found" in kitchen.run(*stages)[1]
    assert kitchen.run(*stages) == ([], "") and not kitchen.calls("cook")
    assert with_needs([model], [onion, model], Stamps(kitchen.runs).needs_nothing) == [model]
    kitchen.run(onion, model)
    assert (kitchen.folder / "model" / "ckpt").read_text() == "theirs"
    kitchen.run(onion, model, force=(model,))
    assert (kitchen.folder / "model" / "ckpt").read_text() == "own"
    assert (kitchen.runs / "replaced" / "cook" / "1" / "model" / "ckpt").read_text() == "theirs"


def test_records_of_an_earlier_version_are_taken_over(kitchen, model):
    """Ended: the model is adopted with its times. Begun: it goes on."""
    put_model(kitchen)
    write_json_to(kitchen.runs / "stages" / "cook.json", {"key": "a", "outputs": ["b"], "seconds": 7.0})
    assert Stamps(kitchen.runs).state(model) == State.FOUND
    kitchen.run(model)
    assert Stamps(kitchen.runs).usage(model).seconds == 7.0
    assert Stamps(kitchen.runs).state(model) == State.DONE
    write_json_to(kitchen.runs / "stages" / "cook.json", {"key": "a"})
    assert Stamps(kitchen.runs).state(model) == State.BEGUN


def write_json_to(path: Path, value) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, value)


@pytest.mark.parametrize("weights", [True, False])
def test_a_half_trained_model_goes_on(kitchen, model, weights):
    """Whether it has checkpoints or not; with word of its end, or without a state to go on from, it is adopted."""
    put_model(kitchen)
    if not weights:
        (kitchen.folder / "model" / "ckpt").unlink()
    resume = kitchen.folder / "model" / "resume.pt"
    resume.touch()
    model = replace(model, resumes=str(resume))
    stamps = Stamps(kitchen.runs)
    assert stamps.state(model) == State.BEGUN and not stamps.needs_nothing(model)
    TrainingRecord(updates=7).write(resume.parent)
    assert stamps.state(model) == State.BEGUN
    TrainingRecord(finished=True).write(resume.parent)
    assert stamps.state(model) == (State.FOUND if weights else State.NEW)
    (resume.parent / "training.json").unlink()
    write_json_to(kitchen.runs / "stages" / "cook.json", {"key": "a", "outputs": ["b"]})
    assert stamps.state(model) == (State.FOUND if weights else State.NEW)  # version 1.0 says that it ended
    (kitchen.runs / "stages" / "cook.json").unlink()
    kitchen.run(kitchen.stage("onion"), model)
    assert kitchen.calls("cook") == ["call --resume"]
    assert not (kitchen.runs / "replaced").exists()


def test_an_adopted_model_that_is_gone_needs_what_it_is_made_of(kitchen, model):
    onion = kitchen.stage("onion")
    put_model(kitchen)
    kitchen.run(model)
    (kitchen.folder / "model" / "ckpt").unlink()
    assert with_needs([model], [onion, model], Stamps(kitchen.runs).needs_nothing) == [onion, model]


def test_half_a_model_is_not_adopted(kitchen, model):
    put_model(kitchen)
    (kitchen.folder / "model" / "meta.json").unlink()
    assert Stamps(kitchen.runs).state(model) == State.NEW


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


RUN_A_LONG_STAGE = """
import sys, pathlib
from pipeline.__main__ import reproduce
from pipeline.stage import Stage
from support.errors import run
folder = pathlib.Path(sys.argv[1])
code = '''
import os, pathlib, signal, sys, time
def save(*_):
    time.sleep(0.5)
    pathlib.Path(sys.argv[1], "saved").touch()
    os._exit(1)
signal.signal(signal.SIGINT, save)
signal.signal(signal.SIGTERM, save)
pathlib.Path(sys.argv[1], "pid").write_text(str(os.getpid()))
time.sleep(60)
'''
stage = Stage(name="long", command=("-c", code, str(folder)), outputs=(str(folder / "never"),))
run(lambda: reproduce([stage], [], folder / "runs", 1))
"""


@pytest.fixture
def long_run(tmp_path):
    """A process of its own, the id of its stage's process, and the folder of runs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", RUN_A_LONG_STAGE, tmp_path]
    process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    pid = tmp_path / "pid"
    wait_until(lambda: pid.exists() and pid.read_text())
    yield process, int(pid.read_text()), tmp_path / "runs"
    process.kill()
    process.wait()


def wait_until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no death signal")
def test_processes_of_a_killed_run_die_with_it(long_run):
    process, pid, runs = long_run
    assert is_alive(pid)
    process.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_alive(pid))
    with in_use(runs):
        pass


@pytest.mark.parametrize("by_keyboard", [True, False])
def test_a_stopped_run_lets_its_stages_save_their_state(long_run, tmp_path, by_keyboard):
    process, pid, _ = long_run
    if by_keyboard:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.terminate()
    assert process.wait(timeout=60) == 130
    assert (tmp_path / "saved").exists() and not is_alive(pid)


def test_a_folder_has_one_run_at_a_time(long_run, monkeypatch):
    monkeypatch.setattr("pipeline.__main__._WAIT", 0.3)
    with pytest.raises(UserError, match="another run is at work"), in_use(long_run[2]):
        pass


def test_the_duration_is_the_longest_chain_or_the_shared_work(kitchen):
    stamps = Stamps(kitchen.runs)
    a, b, c = (kitchen.stage(name, *needed, minutes=10) for name, needed in (("a", ()), ("b", ("a",)), ("c", ())))
    assert duration([a, b, c], stamps, jobs=2) == 20
    assert duration([a, b, c], stamps, jobs=1) == 30
    assert duration([a, c, replace(b, alone=True, inputs=())], stamps, jobs=2) == 20
    kitchen.run(a)
    assert stamps.minutes(a) < 1


def test_with_needs_keeps_the_order(kitchen):
    a, b, c, d = kitchen.stage("a"), kitchen.stage("b", "a"), kitchen.stage("c"), kitchen.stage("d", "b")
    assert with_needs([d], [a, b, c, d]) == [a, b, d]
