"""Backends by name, and their options."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmark.backends import catalog
from benchmark.backends.catalog import BUILT_IN, find, read_options
from benchmark.backends.local import Local
from benchmark.backends.slurm import Slurm, SlurmOptions
from benchmark.errors import UsageError


def test_an_unknown_backend_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="'slrum' is not known; did you mean 'slurm'"):
        find("slrum")


@pytest.mark.parametrize("name", ["dask", "ray", "slurm"])
def test_a_backend_whose_package_is_not_installed_says_which_extra_it_needs(monkeypatch, name):
    monkeypatch.setitem(catalog.PACKAGES, name, "nowhere_to_be_found")
    with pytest.raises(UsageError, match=rf"pip install 'initbench\[{name}\]'"):
        find(name)


def test_options_are_read_as_yaml_scalars_and_text_is_left_as_it_is():
    options = read_options("slurm", Slurm, {"time": "4:30:00", "memory_gb": "1.5", "account": "0123", "stacks": 3})
    assert options == SlurmOptions(time="4:30:00", memory_gb=1.5, account="0123", stacks=3)
    assert options.minutes() == 270


@pytest.mark.parametrize(("time", "minutes"), [("90", 90), ("1-00:00:00", 1440), ("0:00:30", 1), (5, 5)])
def test_slurm_times(time, minutes):
    assert read_options("slurm", Slurm, {"time": time}).minutes() == minutes


@pytest.mark.parametrize("time", ["soon", "4:30", "-3", "0"])
def test_what_is_no_time_is_refused(time):
    with pytest.raises(UsageError, match="time is minutes, HH:MM:SS or D-HH:MM:SS"):
        SlurmOptions(time=time).minutes()


def test_every_wrong_option_is_named():
    with pytest.raises(UsageError) as error:
        read_options("slurm", Slurm, {"partion": "gpu", "stacks": "many"})
    assert "'partion' is not known; did you mean 'partition'" in str(error.value)
    assert "stacks: Input should be a valid integer" in str(error.value)


def test_local_has_no_options():
    with pytest.raises(UsageError, match="'pool' is not known"):
        read_options("local", Local, {"pool": "loky"})


def test_no_backend_is_imported_before_it_is_asked_for():
    code = "import sys, benchmark.backends.catalog, benchmark.execution.execute; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for package in ("distributed", "ray", "submitit", *(module.partition(":")[0] for module in BUILT_IN.values())):
        assert f"'{package}'" not in loaded or package == "benchmark.backends.local"
