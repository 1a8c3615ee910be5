"""Runs stages as processes, as many at a time as there are jobs; what is done stays, what was killed goes on."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.display import Display, clock, memory
from pipeline.experiment import ROOT
from pipeline.stage import Stage, needs
from pipeline.stamps import Stamps, State, Usage, missing
from support.parallel import available_cores

_PROMPT = "$ python "  # before the command line in a log
_TAIL = 12  # lines of a failed stage's log that are shown
_NOTE_EVERY = 30  # seconds: what a running stage took, should all be killed
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss
_SET_PARENT_DEATH_SIGNAL = 1  # of Linux's prctl


@dataclass
class Job:
    stage: Stage
    process: subprocess.Popen[bytes]
    log: Path
    before: Usage  # what earlier starts took that this one goes on from
    started: float = field(default_factory=time.monotonic)
    noted: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def ended(self, wait: bool = False) -> Usage | None:
        """What all starts took, its processes that ended included; None while it runs."""
        pid, status, used = os.wait4(self.process.pid, 0 if wait else os.WNOHANG)
        if pid == 0:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        leg = Usage(self.seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * _RSS_UNIT)
        return self.before.plus(leg)

    def so_far(self) -> Usage:
        """The same of a process that runs, as far as the system tells."""
        return self.before.plus(Usage(self.seconds, *_usage_of(self.process.pid)))


class Runner:
    def __init__(self, runs: Path, jobs: int, lock: int, display: Display) -> None:
        """Processes inherit the lock: the folder is in use as long as one of them lives."""
        self.runs, self.jobs, self.lock, self.display = runs, jobs, lock, display
        self.stamps = Stamps(runs)
        self.running: list[Job] = []

    def run(self, stages: Sequence[Stage], forced: Sequence[Stage]) -> list[Stage]:
        """Returns the stages that failed; those that need them are not begun."""
        signal.signal(signal.SIGTERM, self._terminate)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would ignore it, the stages not
        try:
            return self._run(stages, forced)
        except KeyboardInterrupt:
            self.display.line("stopping, as soon as what runs has saved its state")
            for job in self.running:
                if usage := job.ended(wait=True):
                    self.stamps.goes_on(job.stage, usage)
            raise

    def _terminate(self, *_: object) -> None:
        """Ctrl-C reaches all processes of a terminal, SIGTERM this one alone."""
        for job in self.running:
            os.kill(job.process.pid, signal.SIGTERM)
        raise KeyboardInterrupt

    def _run(self, stages: Sequence[Stage], forced: Sequence[Stage]) -> list[Stage]:
        waiting, failed = list(stages), []
        while waiting or self.running:
            for job in list(self.running):
                if usage := job.ended():
                    self.running.remove(job)
                    if not self._end(job, usage):
                        failed.append(job.stage)
                elif time.monotonic() - job.noted > _NOTE_EVERY:
                    job.noted = time.monotonic()
                    self.stamps.goes_on(job.stage, job.so_far())
            for stage in list(waiting):
                unfinished = [*waiting, *(job.stage for job in self.running), *failed]
                if not needs(stage, unfinished) and self._done_or_begun(stage, stage in forced):
                    waiting.remove(stage)
            if not self.running and failed:
                break
            self.display.running((job.stage.name, job.seconds) for job in self.running)
            time.sleep(0.1)
        return failed

    def _done_or_begun(self, stage: Stage, forced: bool) -> bool:
        state = State.OLD if forced else self.stamps.state(stage)
        if state == State.FOUND:
            self.stamps.adopt(stage)
            self.display.line(f"{time.strftime('%H:%M:%S')}  {stage.name:<34} {'':>15}  found, and used as it is")
        if state in (State.DONE, State.FOUND):
            return True
        alone = stage.alone or any(job.stage.alone for job in self.running)
        if len(self.running) >= (1 if alone else self.jobs):
            return False
        self.running.append(self._begin(stage, state))
        return True

    def _begin(self, stage: Stage, state: State) -> Job:
        more, before = self.stamps.begin(stage, state)
        arguments = [*stage.arguments(), *more]
        log = self.runs / "logs" / f"{stage.name}.log"
        printed = _unfinished(Path(stage.prints)) if stage.prints else log
        for path in (log, printed):
            path.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "ab") as errors, open(printed, "wb" if stage.prints else "ab") as output:
            errors.write(f"{_PROMPT}{' '.join(arguments)}\n".encode())
            errors.flush()
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                pass_fds=[self.lock],
                preexec_fn=_die_with_parent,
            )
        return Job(stage, process, log, before)

    def _environment(self) -> dict[str, str]:
        """Each stage has its share of the cores."""
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        threads = str(max(1, available_cores() // self.jobs))
        return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": threads}

    def _end(self, job: Job, usage: Usage) -> bool:
        stage, code = job.stage, job.process.returncode
        if code == 0 and stage.prints:
            os.replace(_unfinished(Path(stage.prints)), stage.prints)
        lacking = missing(stage.outputs) if code == 0 else []
        if code == 0 and not lacking:
            self.stamps.end(stage, usage)
            self._tell(job, usage, _result(stage, _lines(Path(stage.prints) if stage.prints else job.log)))
            return True
        self.stamps.goes_on(stage, usage)
        reason = f"FAILED, {lacking[0]} was not written" if lacking else f"FAILED, {_describe(code)}"
        self._tell(job, usage, reason)
        for line in _lines(job.log)[-_TAIL:]:
            self.display.line(f"    {line}")
        self.display.line(f"    whole log: {job.log}")
        return False

    def _tell(self, job: Job, usage: Usage, result: str) -> None:
        started = time.strftime("%H:%M:%S", time.localtime(time.time() - job.seconds))
        took = f"{clock(usage.seconds):>7} {memory(usage.peak_bytes):>7}"
        self.display.line(f"{started}  {job.stage.name:<34} {took}  {result}")


def _usage_of(pid: int) -> tuple[float, int]:
    """CPU seconds and peak bytes of a process that runs, where the system has /proc."""
    try:
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
        peak = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0, 0
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK"), int(peak[1]) * 1024 if peak else 0


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}")


def _describe(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _lines(log: Path) -> list[str]:
    """Of the last run."""
    text = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").rpartition(_PROMPT)[2]
    return [line for line in text.splitlines() if line.strip()]


def _result(stage: Stage, lines: list[str]) -> str:
    if stage.figures:
        return "  ".join(re.findall(stage.figures, "\n".join(lines)))
    return lines[-1].strip()[:100] if lines else ""


def _die_with_parent() -> None:
    """Where the system can: a process whose parent was killed would go on beside the next run."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
