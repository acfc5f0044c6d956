from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.records import DONE
from benchmark.store import Store
from benchmark.store.selection import Attempt, counting

STATUSES = ["finished", "diverged", "failed", "timeout", "killed"]


def attempt(cell: str, number: int, status: str) -> Attempt:
    return Attempt(cell, f"a{number:03}", f"run{number}", "t", "i", "compact", status, 1.0)


attempts = st.lists(
    st.builds(attempt, st.sampled_from("ABC"), st.integers(0, 30), st.sampled_from(STATUSES)),
    max_size=12,
    unique_by=lambda a: (a.cell_id, a.attempt_id),
)


def test_numbers_beat_none_however_late_they_come():
    assert counting([attempt("A", 1, "failed"), attempt("A", 2, "diverged")])["A"].attempt_id == "a002"


def test_the_first_attempt_with_numbers_counts():
    found = counting([attempt("A", 3, "finished"), attempt("A", 2, "diverged"), attempt("A", 4, "finished")])
    assert found["A"].attempt_id == "a002"


def test_the_last_attempt_without_numbers_counts():
    assert counting([attempt("A", 2, "killed"), attempt("A", 1, "failed")])["A"].status == "killed"


@given(attempts, st.randoms())
def test_the_order_of_attempts_never_matters(given_attempts, shuffler):
    shuffled = given_attempts * 2
    shuffler.shuffle(shuffled)
    assert counting(shuffled) == counting(given_attempts)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempts, st.randoms())
def test_the_index_chooses_as_python_does_whatever_the_files(tmp_path_factory, record, given_attempts, shuffler):
    store = Store(tmp_path_factory.mktemp("s"))
    order = given_attempts + given_attempts[:2]
    shuffler.shuffle(order)
    for number, one in enumerate(order):
        written = record(number, cell_id=one.cell_id, attempt_id=one.attempt_id, status=one.status, resolved={})
        store.write_shard([written])
        if number == len(order) // 2:
            store.connect().close()  # so that the rest is added to an index that exists
    expected = {cell: (best.attempt_id, best.status) for cell, best in counting(given_attempts).items()}
    assert {cell: (best.attempt_id, best.status) for cell, best in store.counting().items()} == expected
    con = store.connect()
    rows = con.execute("select cell_id, attempt_id, status from cells").fetchall()
    assert {cell: (name, status) for cell, name, status in rows} == expected
    assert len(rows) == len(expected)
    assert con.execute("select count(*) from attempts").fetchall() == [(len(given_attempts),)]
    con.close()
    assert set(store.finished()) == {cell for cell, (_, status) in expected.items() if status in DONE}
    assert set(store.not_done()) == {cell for cell, (_, status) in expected.items() if status not in DONE}
