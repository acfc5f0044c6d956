"""`bench data` as a user types it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmark.cli.data import command
from benchmark.errors import DataError


def bench(*arguments):
    """Output and exit code; DataError reaches the caller, as it reaches the shell's error boundary."""
    result = CliRunner().invoke(command, [str(item) for item in arguments], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.output, int(result.return_value or 0)


def test_list_shows_what_is_here_and_what_is_not(cifar):
    output, code = bench("list")
    assert code == 0
    lines = {line.split()[0]: line for line in output.splitlines() if line}
    assert "embedded" in lines["digits"]
    assert "missing" in lines["mini"]
    bench("prepare", "mini", "--from", cifar.tar())
    lines = {line.split()[0]: line for line in bench("list")[0].splitlines() if line}
    assert "prepared" in lines["mini"]


def test_list_as_json_has_sources_and_commands(cifar):
    lines = {line["name"]: line for line in json.loads(bench("list", "--json")[0])}
    assert lines["cifar10"]["rows"] == {"train": 50000, "test": 10000}
    assert lines["cifar10"]["sources"][0]["revision"] == "0b2714987fa478483af9968de7c934580d0bb9a2"
    assert "bench data fetch cifar10" in lines["cifar10"]["command"]
    assert lines["digits"]["command"] is None
    assert any("pickles" in trap for trap in lines["cifar10"]["traps"])


def test_where_names_the_folder_or_the_command(cifar, tmp_path):
    assert bench("where")[0].strip() == str(tmp_path / "data")
    assert "bench data prepare mini --from PATH" in bench("where", "mini")[0]
    folder = json.loads(bench("prepare", "mini", "--from", cifar.tar(), "--json")[0])["folder"]
    assert folder in bench("where", "mini")[0]
    assert json.loads(bench("where", "mini", "--json")[0])["data_sets"][0]["folders"] == [folder]


def test_what_list_where_and_fetch_say_of_imagenet_leads_to_what_its_task_reads(catalogue):
    command = "bench data prepare imagenet100-cmc --from PATH --size 256"
    line = next(line for line in json.loads(bench("list", "--json")[0]) if line["name"] == "imagenet100-cmc")
    assert command in line["command"]
    assert (line["size"], line["sizes"]) == (256, [])
    assert command in bench("where", "imagenet100-cmc")[0]
    with pytest.raises(DataError, match=command):
        bench("fetch", "imagenet100-cmc")
    with pytest.raises(DataError, match="--size 224"):
        bench("fetch", "imagenet100-cmc", "--size", 224)
    assert "256" in bench("prepare", "--help")[0]


def test_list_and_where_tell_the_sizes_that_are_there_and_the_one_that_is_wanted(photos):
    small = json.loads(bench("prepare", "photos", "--from", photos[0], "--size", 16, "--json")[0])["folder"]
    (line,) = [line for line in bench("list")[0].splitlines() if line.startswith("photos")]
    assert "missing at 24×24, only at 16×16" in line
    output, _ = bench("where", "photos")
    assert f"photos: {small} (16×16)" in output
    assert "at 24×24, only at 16×16" in output
    bench("prepare", "photos", "--from", photos[0])
    (line,) = [line for line in bench("list")[0].splitlines() if line.startswith("photos")]
    assert "prepared at 16×16 and 24×24" in line
    (found,) = json.loads(bench("where", "photos", "--json")[0])["data_sets"]
    assert sorted(found["sizes"]) == [16, 24]
    assert found["folders"][found["sizes"].index(16)] == small
    assert found["command"] is None


def test_verify_looks_at_every_size_that_is_there_also_without_a_name(photos):
    bench("prepare", "photos", "--from", photos[0], "--size", 16)
    checks = json.loads(bench("verify", "--json")[0])["photos"]
    assert "prepared train at 16 (folders)" in {check["what"] for check in checks if check["state"] == "ok"}


def test_a_fetch_with_an_impossible_size_downloads_nothing(catalogue):
    with pytest.raises(DataError, match="no choice of size"):
        bench("fetch", "cifar10", "--size", 64)
    with pytest.raises(DataError, match="expected 8 to 1024"):
        bench("fetch", "imagenet100-cmc", "--size", 0)


def test_the_data_option_comes_before_the_variable(cifar, tmp_path):
    place = tmp_path / "elsewhere"
    bench("prepare", "mini", "--from", cifar.tar(), "--data", place)
    assert (place / "mini" / "prepared").is_dir()
    assert "missing" in bench("verify", "mini")[0]
    assert bench("verify", "mini", "--data", place)[1] == 0


def test_prepare_says_rows_and_what_could_not_be_compared(cifar):
    output, code = bench("prepare", "mini", "--from", cifar.tar())
    assert code == 0
    assert "prepared from binary: train 400, test 200" in output
    assert "no published hash to compare with, recorded: mini-binary.tar.gz" in output
    assert "was already prepared" in bench("prepare", "mini", "--from", cifar.folder)[0]


def test_prepare_counts_empty_and_misencoded_rows(stories):
    output, _ = bench("prepare", "stories", "--from", stories[0])
    assert "train: 2 empty rows, kept as they are" in output
    assert "train: 1 misencoded rows, kept as they are" in output


def test_verify_exit_codes_tell_wrong_from_missing(cifar):
    assert bench("verify")[1] == 0
    output, code = bench("verify", "mini")
    assert code == 3
    assert "bench data prepare mini" in output
    folder = json.loads(bench("prepare", "mini", "--from", cifar.tar(), "--json")[0])["folder"]
    assert bench("verify", "mini")[1] == 0
    from pathlib import Path

    path = Path(folder) / "test-labels.npy"
    raw = bytearray(path.read_bytes())
    raw[-8] ^= 1
    path.write_bytes(raw)
    output, code = bench("verify", "mini", "digits", "--json")
    assert code == 4
    states = {check["what"]: check["state"] for check in json.loads(output)["mini"]}
    assert states["prepared test (binary)"] == "wrong"
    assert states["prepared train (binary)"] == "ok"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prepare", "digits", "--from", "."), "part of this package"),
        (("prepare", "cifar1O", "--from", "."), "Did you mean 'cifar10'"),
        (("prepare", "cifar10", "--from", "no/such/place"), "no such file or folder"),
        (("prepare", "cifar10", "--from", ".", "--size", "64"), "no choice of size"),
        (("prepare", "imagenet100-cmc", "--from", ".", "--size", "4"), "expected 8 to 1024"),
        (("fetch", "imagenet100-cmc"), "is not fetched"),
        (("fetch", "cifar10", "--layout", "zip"), "layouts: huggingface, binary"),
        (("where", "nothing"), "no data set 'nothing'"),
    ],
)
def test_mistakes_are_answered_with_what_to_do(catalogue, arguments, message):
    with pytest.raises(DataError, match=message):
        bench(*arguments)


def test_an_empty_folder_is_told_what_is_expected(catalogue, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"cifar-10-binary\.tar\.gz or its unpacked folder cifar-10-batches-bin"):
        bench("prepare", "cifar10", "--from", tmp_path / "empty")
