"""GPUs are found through the driver's own tool, and one process holds each."""

from __future__ import annotations

import pytest

from benchmark.backends.contract import Wanted
from benchmark.backends.local import Local
from benchmark.errors import UsageError
from benchmark.execution import devices
from benchmark.execution.devices import Gpu, gpu_slot, resolve_device

LISTING = [("0", "NVIDIA H200", "GPU-aaaa"), ("1", "NVIDIA H200", "GPU-bbbb")]


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """`machine(listing, cuda, visible)`: what the driver lists, whether torch has CUDA, CUDA_VISIBLE_DEVICES."""

    def make(listing=LISTING, cuda=True, visible=None):
        devices.gpus.cache_clear()
        monkeypatch.setattr(devices, "query_driver", lambda: listing)
        monkeypatch.setattr(devices, "torch_has_cuda", lambda: cuda)
        monkeypatch.setattr(devices, "LOCK_POLL_SECONDS", 0.01)
        monkeypatch.setattr(devices.tempfile, "gettempdir", lambda: str(tmp_path))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    yield make
    devices.gpus.cache_clear()


def test_auto_takes_gpus_only_when_torch_can_use_them(machine):
    machine()
    assert resolve_device("auto") == "cuda"
    machine(cuda=False)
    assert resolve_device("auto") == "cpu"
    machine(listing=[])
    assert resolve_device("auto") == "cpu"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("tpu", "auto, cpu, cuda"),
        ("cuda:x", "auto, cpu, cuda"),
        ("cuda:0,cpu", "auto, cpu, cuda"),
        ("cuda:2", "no such GPU. Found: cuda:0 NVIDIA H200"),
        ("cuda:0,cuda:2", "no such GPU. Found: cuda:0 NVIDIA H200"),
    ],
)
def test_a_device_that_is_not_there_is_refused_with_what_is(machine, wanted, message):
    machine()
    with pytest.raises(UsageError, match=message):
        resolve_device(wanted)


def test_visible_devices_limit_the_choice(machine):
    machine(visible="1")
    assert [gpu.id for gpu in devices.gpus()] == ["1"]
    machine(visible="GPU-b")
    assert devices.gpus() == (Gpu("GPU-b", "NVIDIA H200", "GPU-bbbb"),)
    machine(visible="")
    assert devices.gpus() == ()


@pytest.mark.parametrize(
    "visible",
    ["0", "1,0", "0,-1,1", "0,7,1", "0,0", "-1", "", "0,x", "GPU-aaaa,GPU-bbbb", "GPU-aaaa,0", "1,GPU-aaaa", "MIG-a"],
)
def test_the_variable_is_read_as_torch_reads_it(machine, monkeypatch, visible):
    """torch's own parser says which words stand; of these, CUDA hides what follows one that there is not."""
    import torch

    machine(visible=visible)
    words = torch.cuda._parse_visible_devices()
    known = {"0": 0, "1": 1, "GPU-aaaa": 0, "GPU-bbbb": 1}
    expected = []
    for word in map(str, words):
        if word not in known and not word.startswith("MIG-"):
            break
        expected.append(word)
    assert [gpu.id for gpu in devices.gpus()] == expected


def test_a_partition_of_a_gpu_is_a_device_of_that_name(machine, monkeypatch):
    machine(visible="MIG-377e0049-554c")
    lines = ["GPU 0: NVIDIA A100 (UUID: GPU-aaaa)", "  MIG 1g.5gb     Device  0: (UUID: MIG-377e0049-554c-540b)"]
    monkeypatch.setattr(devices, "nvidia_smi", lambda *words: lines)
    assert devices.gpus() == (Gpu("MIG-377e0049-554c", "MIG 1g.5gb", "MIG-377e0049-554c-540b"),)
    assert resolve_device("auto") == "cuda"
    machine(visible="MIG-none")
    monkeypatch.setattr(devices, "nvidia_smi", lambda *words: lines)
    assert devices.gpus() == ()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"visible": "GPU-cccc"}, "CUDA_VISIBLE_DEVICES=GPU-cccc names no GPU that nvidia-smi lists"),
        ({"cuda": False}, "2 GPUs are here, but this torch is built without CUDA"),
        ({"visible": "-1"}, ""),
        ({"listing": []}, ""),
        ({}, ""),
    ],
)
def test_auto_that_ends_on_the_cpu_although_gpus_are_there_or_named_says_so(machine, fields, told):
    machine(**fields)
    assert devices.why_on_cpu("auto").startswith(told)
    assert bool(devices.why_on_cpu("auto")) == bool(told)
    assert devices.why_on_cpu("cpu") == ""


def test_each_gpu_is_held_by_one(machine):
    machine()
    with gpu_slot("cuda") as first, gpu_slot("cuda") as second:
        assert {first.id, second.id} == {"0", "1"}
        with gpu_slot("cuda", stopped=iter([False, False, True]).__next__) as third:
            assert third is None
    with gpu_slot("cuda:1") as again:
        assert again.id == "1"


def test_the_cpu_needs_no_slot(machine):
    machine()
    with gpu_slot("cpu") as gpu:
        assert gpu is None


def test_gpus_by_number_are_all_that_is_used_one_stack_on_each(machine):
    machine()
    assert resolve_device("cuda:1,cuda:0,cuda:1") == "cuda:1,cuda:0,cuda:1"
    assert [gpu.id for gpu in devices.candidates("cuda:1,cuda:0,cuda:1")] == ["1", "0"]
    assert [gpu.id for gpu in devices.candidates("cuda:1")] == ["1"]
    assert Local(None, Wanted(device="cuda:1,cuda:0")).workers == 2
    with gpu_slot("cuda:1,cuda:0") as first, gpu_slot("cuda:1,cuda:0") as second:
        assert (first.id, second.id) == ("1", "0")
