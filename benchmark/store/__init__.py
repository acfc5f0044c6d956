"""The result store. Importing it loads neither pyarrow nor DuckDB; the methods do when they need them."""

from benchmark.store.heartbeats import Heartbeat
from benchmark.store.layout import Layout, new_attempt_id, new_run_id, now
from benchmark.store.runs import RunRecord
from benchmark.store.selection import Attempt
from benchmark.store.store import Store

__all__ = ["Attempt", "Heartbeat", "Layout", "RunRecord", "Store", "new_attempt_id", "new_run_id", "now"]
