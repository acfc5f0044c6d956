"""Downloads from a real server on loopback: whole, broken off and continued, wrong, without ranges, missing."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from data_child import error

from benchmark.errors import DataError
from tasks.data import fetch as module
from tasks.data.fetch import fetch, fetch_file, locked
from tasks.data.manifest import File, dataset

BODY = bytes(range(256)) * 4096
"""1 MiB."""


class Server(ThreadingHTTPServer):
    """Serves BODY at every path, misbehaving as the path says; keeps what was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []

    def handle_error(self, request, address):
        """A client that hangs up on a wrong answer is what is tested."""

    def url(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.asked.append((self.path, asked))
        kind = self.path.strip("/").split("-")[0]
        start = int(re.match(r"bytes=(\d+)-", asked)[1]) if asked and kind not in ("noranges", "stuck") else 0
        body = BODY
        if kind == "missing":
            self.send_error(404)
            return
        if kind == "wrong":
            body = b"X" + BODY[1:]
        if kind == "long":
            body = BODY + b"more"
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            shown = start + 1 if kind == "shifted" else start
            self.send_header("Content-Range", f"bytes {shown}-{len(body) - 1}/{len(body)}")
        if kind != "unstated":
            self.send_header("Content-Length", str(len(body) - start))
        self.send_header("Connection", "close")
        self.end_headers()
        broken = kind in ("broken", "shifted", "noranges") and len(self.server.asked) < 3
        self.wfile.write(body[start : start + 300_000] if broken or kind == "stuck" else body[start:])
        self.close_connection = True


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def file(*urls, **known):
    known = {"size": len(BODY), "sha256": hashlib.sha256(BODY).hexdigest()} | known
    return File(path="a/data.bin", urls=urls, **known)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "a" / "data.bin"


def leftovers(target):
    return sorted(path.name for path in target.parent.iterdir())


def test_a_file_arrives_whole_and_alone(server, target):
    told = []
    fetch_file(file(server.url("good")), target, lambda what, done, total: told.append((done, total)))
    assert target.read_bytes() == BODY
    assert leftovers(target) == ["data.bin"]
    assert told[-1] == (len(BODY), len(BODY))
    assert server.asked == [("/good", None)]


def test_a_good_file_is_not_fetched_again_and_a_damaged_one_is(server, target):
    wanted = file(server.url("good"))
    fetch_file(wanted, target)
    fetch_file(wanted, target)
    assert len(server.asked) == 1
    target.write_bytes(b"damaged")
    fetch_file(wanted, target)
    assert target.read_bytes() == BODY


def test_a_download_that_breaks_off_is_continued_where_it_stopped(server, target):
    fetch_file(file(server.url("broken")), target)
    assert target.read_bytes() == BODY
    assert [asked for _, asked in server.asked] == [None, "bytes=300000-", "bytes=600000-"]


def test_what_an_earlier_run_left_is_continued(server, target):
    target.parent.mkdir(parents=True)
    target.with_name("data.bin.part").write_bytes(BODY[:500_000])
    fetch_file(file(server.url("good")), target)
    assert target.read_bytes() == BODY
    assert server.asked == [("/good", "bytes=500000-")]


def test_a_finished_part_only_needs_its_name(server, target):
    target.parent.mkdir(parents=True)
    target.with_name("data.bin.part").write_bytes(BODY)
    fetch_file(file(server.url("good")), target)
    assert leftovers(target) == ["data.bin"]
    assert server.asked == []


def test_a_part_of_something_else_is_thrown_away_and_the_next_address_tried(server, target):
    target.parent.mkdir(parents=True)
    target.with_name("data.bin.part").write_bytes(b"Y" * 500_000)
    fetch_file(file(server.url("good-1"), server.url("good-2")), target)
    assert target.read_bytes() == BODY
    assert server.asked == [("/good-1", "bytes=500000-"), ("/good-2", None)]


def test_a_server_without_ranges_starts_anew(server, target):
    fetch_file(file(server.url("noranges")), target)
    assert target.read_bytes() == BODY
    assert len(server.asked) == 3


def test_a_server_that_never_gets_through_leaves_its_part_for_next_time(server, target):
    with pytest.raises(DataError, match="could not be fetched; 300,000 bytes are kept") as caught:
        fetch_file(file(server.url("stuck")), target)
    assert "broke off after 300,000 of 1,048,576 bytes" in str(caught.value)
    assert len(server.asked) == module.ATTEMPTS
    fetch_file(file(server.url("good")), target)
    assert target.read_bytes() == BODY
    assert server.asked[-1] == ("/good", "bytes=300000-")


def test_a_wrong_digest_is_refused_and_nothing_is_left(server, target):
    with pytest.raises(DataError, match=r"has sha256 .* expected"):
        fetch_file(file(server.url("wrong")), target)
    assert leftovers(target) == []


def test_a_wrong_published_md5_is_refused_where_no_sha256_is_known(server, target):
    with pytest.raises(DataError, match="has md5"):
        fetch_file(file(server.url("wrong"), sha256=None, md5=hashlib.md5(BODY).hexdigest()), target)


def test_the_next_mirror_is_tried_and_every_failure_told(server, target):
    urls = [server.url(kind) for kind in ("missing", "wrong", "long", "good")]
    fetch_file(file(*urls), target)
    assert target.read_bytes() == BODY
    target.unlink()
    with pytest.raises(DataError) as caught:
        fetch_file(file(*urls[:3]), target)
    text = str(caught.value)
    assert "/missing: HTTP Error 404" in text
    assert "/wrong: has sha256" in text
    assert "/long: offers 1,048,580 bytes, expected 1,048,576" in text


def test_more_than_was_announced_is_refused(server, target):
    with pytest.raises(DataError, match="more than the expected 1,000 bytes"):
        fetch_file(file(server.url("unstated"), size=1000), target)


def test_a_wrong_range_is_not_appended(server, target):
    with pytest.raises(DataError, match="asked for bytes from 300000, got 'bytes 300001-"):
        fetch_file(file(server.url("shifted")), target)


def test_a_file_of_unknown_digest_arrives_too(server, target):
    fetch_file(file(server.url("unstated"), size=None, sha256=None), target)
    assert target.read_bytes() == BODY


def test_nobody_listening_is_an_error_with_the_address(target):
    with pytest.raises(DataError, match=r"http://127\.0\.0\.1:9/x"):
        fetch_file(file("http://127.0.0.1:9/x"), target)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_only_web_addresses_are_opened(target, url):
    with pytest.raises(DataError, match="expected an http or https address"):
        fetch_file(file(url), target)


def test_two_processes_do_not_write_one_part(server, target):
    target.parent.mkdir(parents=True)
    with locked(target.with_name("data.bin.part")), pytest.raises(DataError, match="another process"):
        fetch_file(file(server.url("good")), target)


@pytest.fixture
def raw(cifar, catalogue, server):
    """The data set `mini` with one file, at two addresses."""
    values = json.loads(dataset("mini").model_dump_json())
    entry = json.loads(file(server.url("good-1"), server.url("good-2")).model_dump_json())
    values["layouts"] = [{"name": "raw", "reader": "parquet-text", "source": "x", "files": [entry]}]
    catalogue(values)


def test_a_disk_that_is_full_ends_a_fetch_at_once_and_keeps_what_came(raw, server, tmp_path):
    line = error("fetch", "mini", largest_file=400_000, code=1)
    folder = tmp_path / "data" / "mini" / "source" / "a"
    assert f"cannot write in {folder}: File too large. Free some space, or choose another folder with --data" in line
    assert f"400,000 bytes are kept in {folder / 'data.bin.part'} and continued next time" in line
    assert len(server.asked) == 1
    fetch("mini")
    assert server.asked[1:] == [("/good-1", "bytes=400000-")]
    assert (folder / "data.bin").read_bytes() == BODY


def test_a_disk_without_any_space_is_told_too(raw, small_disk, tmp_path):
    (small_disk / "filler").write_bytes(bytes(1 << 20))
    line = error("fetch", "mini", "--data", small_disk, code=1)
    assert "No space left on device" in line
    assert [path.name for path in small_disk.rglob("*") if path.is_file()] == ["filler"]


@pytest.mark.parametrize("data", ["/proc/no/such", "file/below"])
def test_a_place_that_cannot_be_ends_a_fetch_before_anything_is_asked(raw, server, tmp_path, data):
    (tmp_path / "file").touch()
    place = data if data.startswith("/") else tmp_path / data
    line = error("fetch", "mini", "--data", place, code=1)
    assert f"cannot write in {place}/mini/source/a" in line
    assert "choose another folder with --data" in line
    assert server.asked == []


def test_a_folder_that_may_not_be_written_ends_a_fetch_before_anything_is_asked(raw, server, tmp_path):
    folder = tmp_path / "data" / "mini" / "source" / "a"
    folder.mkdir(parents=True)
    folder.chmod(0o555)
    assert f"cannot write in {folder}: Permission denied" in error("fetch", "mini", code=1)
    folder.chmod(0o755)
    assert server.asked == []


def test_a_data_set_is_fetched_into_its_source_folder_and_verified(raw, tmp_path):
    from tasks.data.verify import verify

    assert fetch("mini") == tmp_path / "data" / "mini" / "source"
    assert (tmp_path / "data" / "mini" / "source" / "a" / "data.bin").read_bytes() == BODY
    assert [check.state for check in verify("mini") if check.what == "file a/data.bin"] == ["ok"]
    with pytest.raises(DataError, match="no layout 'x'; layouts: raw"):
        fetch("mini", layout="x")


def test_what_may_not_be_fetched_says_how_to_get_it():
    with pytest.raises(DataError, match="bench data prepare imagenet100-cmc --from PATH"):
        fetch("imagenet100-cmc")
    with pytest.raises(DataError, match="part of this package"):
        fetch("digits")
