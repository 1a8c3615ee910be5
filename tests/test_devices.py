"""Which device a process takes, alone and among others."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

import pytest
import torch
from commands import ROOT

from support.devices import DeviceFlags, wait_for
from support.errors import UserError
from support.processes import Processes

PROGRAM = """
import sys, torch
from support.devices import DeviceFlags
from support.errors import UserError
from support.processes import process_group, total
torch.cuda.is_available, torch.cuda.device_count = lambda: True, lambda: 2
with process_group(gpu=False) as processes:
    assert total(torch.tensor(processes.rank + 1)) == 3  # they do know of each other, over gloo
    for device in sys.argv[1:]:
        try:
            print(DeviceFlags(device=device).pick_device(processes))
        except UserError as error:
            print(error)
"""


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


def test_each_of_two_processes_takes_its_own_gpu():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    group = {"PYTHONPATH": str(ROOT), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    command = [sys.executable, "-c", PROGRAM, "auto", "cuda", "cpu", "cuda:1"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [
        subprocess.Popen(command, env={**os.environ, **group, "RANK": rank, "LOCAL_RANK": rank}, **pipes)
        for rank in ("0", "1")
    ]
    refused = "--device cuda:1 is one GPU for all processes; --device cuda is one for each"
    for rank, process in enumerate(started):
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert output.splitlines() == [f"cuda:{rank}", f"cuda:{rank}", "cpu", refused]


def test_alone_a_process_takes_the_gpu_that_it_is_told(two_gpus):
    for name, device in [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1"), ("cpu", "cpu")]:
        assert DeviceFlags(device=name).pick_device() == torch.device(device)
    assert DeviceFlags(device="cuda", cuda=False).pick_device() == torch.device("cpu")


def test_devices_that_do_not_exist_are_refused(two_gpus):
    for name in ("cuda:2", "tpu", "meta", "cuda:x"):
        with pytest.raises(UserError, match=name):
            DeviceFlags(device=name).pick_device()
    with pytest.raises(UserError, match="no GPU 2"):
        DeviceFlags(device="cuda").pick_device(Processes(2, 3, 2))


def test_auto_is_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert DeviceFlags().pick_device() == torch.device("cpu")
    with pytest.raises(UserError, match="no GPU 0"):
        DeviceFlags(device="cuda").pick_device()


def test_a_gpu_is_waited_for(monkeypatch):
    waited: list[object] = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    for device in ("cpu", "cuda"):
        wait_for(torch.device(device))
    assert waited == [torch.device("cuda")]
