"""Jobs of a SLURM cluster, submitted as arrays by submitit; answers and logs lie in the store's folder `slurm`.

A job trains its stacks one after the other and leaves an answer for each at once. Told that its time limit is near
(SIGUSR2, or SIGUSR1) it ends the stack in order and puts itself back into the queue, where it goes on with the stacks
it has not done. SIGTERM (`scancel`, preemption) ends it in order; what SLURM itself requeues goes on in the same way.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from benchmark.backends.contract import (
    Backend,
    BackendError,
    Function,
    Lost,
    Options,
    Underway,
    Wanted,
    Why,
    WorkerError,
)
from benchmark.backends.work import SWEEP_SECONDS, Marks, mark_of, perform
from benchmark.errors import UsageError
from benchmark.execution.job import Job, Outcome
from benchmark.execution.process import POOL
from benchmark.execution.stopping import STOPPING, handled
from benchmark.store.layout import read_json, write_bytes, write_json
from benchmark.wording import LAST_WORDS

STACKS_AT_ONCE = 16
"""Of a run without --workers: grids are cut into so many stacks at least, and so many jobs of an array run at once."""
ARRAY_SIZE = 1000
"""Jobs of one array; SLURM's own default limit is 1,001."""
ASK_SECONDS = 5.0
"""Between two questions to SLURM."""
SETTLE_SECONDS = 8.0
"""A shared folder may show a job's last answer so much later than SLURM says that the job is gone."""
LOG_LINES = 12
END_SECONDS = 20.0
"""For a stack to end in order."""

ENDS: dict[str, Why] = {
    "CANCELLED": "cancelled",
    "PREEMPTED": "preempted",
    "OUT_OF_MEMORY": "out of memory",
    "TIMEOUT": "time limit",
    "DEADLINE": "time limit",
}
"""SLURM's states of jobs that are gone; every other (FAILED, NODE_FAIL, BOOT_FAIL ...) means that the worker died."""
GONE = {*ENDS, "COMPLETED", "FAILED", "NODE_FAIL", "BOOT_FAIL"}


class SlurmOptions(Options):
    """Options of `--backend slurm`."""

    partition: str = ""
    """Partition (queue)."""
    account: str = ""
    """Account to charge."""
    qos: str = ""
    """Quality of service."""
    constraint: str = ""
    """Features a node must have, for example `h200`."""
    time: int | str = 60
    """Limit of a job: minutes, `HH:MM:SS` or `D-HH:MM:SS`."""
    memory_gb: float | None = None
    """Memory of a job in GB; the cluster's default when absent."""
    cpus: int = 1
    """Cores of a job, and torch threads of its stacks."""
    gpus: int | None = None
    """GPUs of a job; one when the device is cuda."""
    stacks: int = 1
    """Stacks of one job, trained one after the other."""
    requeues: int = 10
    """How often a job goes on in the queue after its time limit."""
    warning_seconds: int = 90
    """So long before the limit a job ends its stack in order."""
    setup: str = ""
    """Shell commands before the start, for example `module load cuda`."""
    python: str = ""
    """Interpreter on the nodes; the dispatcher's own when absent."""

    def minutes(self) -> int:
        """The time limit. Raises UsageError."""
        match = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)", str(self.time))
        if match:
            days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
            return days * 1440 + hours * 60 + minutes + (seconds > 0)
        if str(self.time).isdecimal() and int(self.time) > 0:
            return int(self.time)
        raise UsageError(f"--backend-option time is minutes, HH:MM:SS or D-HH:MM:SS, found '{self.time}'.")


@dataclass
class Work:
    """What submitit carries to a node: stacks, and what to do with them."""

    function: Function
    jobs: dict[str, Job]
    """By the name of the answer."""
    folder: str
    """Of the answers."""

    training: ClassVar[threading.Thread | None] = None

    def __call__(self) -> None:
        """Train the stacks that have no answer yet, and mind the signals."""
        signal.signal(signal.SIGUSR1, signal.getsignal(signal.SIGUSR2))  # some clusters send the one, some the other
        Work.training = threading.Thread(target=self._train, daemon=True)
        with handled(self._leave, (signal.SIGTERM,)):
            Work.training.start()
            while Work.training.is_alive():
                Work.training.join(0.2)
        POOL.close()

    def checkpoint(self) -> Any:
        """Called by submitit when the end is near: what is to go on in the queue."""
        from submitit.helpers import DelayedSubmission

        self._end_in_order()
        return DelayedSubmission(Work(self.function, self.jobs, self.folder))

    def _leave(self, *_: object) -> None:
        self._end_in_order()
        raise SystemExit(128 + signal.SIGTERM)

    def _end_in_order(self) -> None:
        STOPPING.set()  # here a stack that can go on where it was keeps what it has
        if Work.training is not None:
            Work.training.join(END_SECONDS)

    def _train(self) -> None:
        for name, job in self.jobs.items():
            if answer_file(Path(self.folder), name).exists():
                continue
            try:
                answer = perform(self.function, job)
            except Exception:
                answer = WorkerError(traceback.format_exc())
            if STOPPING.is_set() or isinstance(answer, Lost) or (isinstance(answer, Outcome) and answer.stopped):
                return
            write_bytes(answer_file(Path(self.folder), name), pickle.dumps(answer))
            Marks(Path(job.store), job.run_id).clear(mark_of(self.function, job))


def answer_file(folder: Path, name: str) -> Path:
    """Where an answer is put. The folder is its owner's alone, so what is unpickled is what was pickled here."""
    return folder / f"{name}.answer"


class Slurm(Backend):
    """An array for each submission. Jobs live on when the dispatcher does not; the next run waits for them."""

    Options = SlurmOptions
    can_detach = True

    def __init__(self, options: SlurmOptions, wanted: Wanted) -> None:
        if not (shutil.which("sbatch") and shutil.which("squeue")):
            raise BackendError(
                "SLURM's commands `sbatch` and `squeue` are not here; run on a login node of the cluster."
            )
        gpus = options.gpus if options.gpus is not None else int(wanted.device.startswith("cuda"))
        self.device = ("cuda" if gpus else "cpu") if wanted.device == "auto" else wanted.device
        self.workers = wanted.workers or STACKS_AT_ONCE
        self.threads = options.cpus
        self._folder = wanted.folder / "slurm" / wanted.run_id
        sweep(self._folder.parent)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._stacks = options.stacks
        self._executor = executor(self._folder, options, gpus, self.workers)
        self._rounds = 0
        self._numbers: dict[str, int] = {}
        self._jobs: dict[str, str] = {}
        self._gone: dict[str, float] = {}
        self._asked = -ASK_SECONDS
        self._keep = False

    def submit(self, function: Function, jobs: Mapping[int, Job]) -> None:
        """See `Backend.submit`. Raises BackendError."""
        self._rounds += 1
        named = {f"{self._rounds}-{number}": job for number, job in jobs.items()}
        self._numbers |= dict(zip(named, jobs, strict=True))
        names = [*named]
        chunks = [names[start : start + self._stacks] for start in range(0, len(names), self._stacks)]
        for start in range(0, len(chunks), ARRAY_SIZE):
            part = chunks[start : start + ARRAY_SIZE]
            works = [Work(function, {name: named[name] for name in chunk}, str(self._folder)) for chunk in part]
            chunk_of = dict(zip(self._submitted(works), part, strict=True))
            self._jobs |= {name: job for job, chunk in chunk_of.items() for name in chunk}
            if function.__name__ == "supervise":  # only what trains takes cells
                record = {
                    job: {"cells": [id for name in chunk for id in named[name].cell_ids], "answers": chunk}
                    for job, chunk in chunk_of.items()
                }
                write_json(self._folder / f"{next(iter(record))}.json", record)

    def _submitted(self, works: list[Work]) -> list[str]:
        try:
            with self._executor.batch():
                submitted = [self._executor.submit(work) for work in works]
        except Exception as error:  # submitit hands on whatever sbatch said
            raise BackendError(f"SLURM did not take the jobs: {error}") from None
        return [str(job.job_id) for job in submitted]

    def collect(self, seconds: float) -> list[tuple[int, Any]]:
        """See `Backend.collect`."""
        end = time.monotonic() + seconds
        while not (found := [*self._answers(), *self._losses()]) and time.monotonic() < end:
            time.sleep(min(0.2, seconds))
        return found

    def _answers(self) -> list[tuple[int, Any]]:
        there = {path.stem for path in self._folder.glob("*.answer")} & self._jobs.keys()
        for name in there:
            del self._jobs[name]
        return [(self._numbers[name], pickle.loads(answer_file(self._folder, name).read_bytes())) for name in there]

    def _losses(self) -> list[tuple[int, Any]]:
        if time.monotonic() - self._asked < ASK_SECONDS:
            return []
        self._asked = time.monotonic()
        states = queue()
        if states is None:
            return []
        now = time.monotonic()
        self._gone = {
            job: self._gone.get(job, now) for job in set(self._jobs.values()) if states.get(job, "COMPLETED") in GONE
        }
        lost = {job for job, since in self._gone.items() if now - since >= SETTLE_SECONDS}
        found = {job: what_became_of(job, self._folder) for job in lost}
        names = [name for name, job in self._jobs.items() if job in lost]
        self._keep |= bool(names)
        return [(self._numbers[name], found[self._jobs.pop(name)]) for name in names]

    def cancel(self) -> None:
        """Take queued jobs back, and have running ones end in order."""
        if self._jobs:
            ask("scancel", *sorted(set(self._jobs.values())))

    def detach(self) -> None:
        """See `Backend.detach`."""
        self._keep = bool(self._jobs)
        self._jobs.clear()

    def close(self) -> None:
        """See `Backend.close`; the logs stay where something was lost."""
        self.cancel()
        self._jobs.clear()
        if not self._keep:
            shutil.rmtree(self._folder, ignore_errors=True)

    @classmethod
    def underway(cls, store: Path) -> list[Underway]:
        """See `Backend.underway`."""
        submitted = {path: read_json(path) or {} for path in (store / "slurm").glob("*/*.json")}
        states = queue() if submitted else {}
        return [
            job
            for path, jobs in submitted.items()
            for name, entry in jobs.items()
            if (job := standing(name, entry, path.parent, states)) is not None
        ]


def standing(job: str, entry: Mapping[str, Any], folder: Path, states: Mapping[str, str] | None) -> Underway | None:
    """Where a job of another run stands; None for one that is gone and has left all its answers."""
    cells = tuple(entry["cells"])
    if states is None:
        return Underway(job, cells, False, "not known: SLURM does not answer here")
    if (state := states.get(job)) is not None and state not in GONE:
        return Underway(job, cells, True, state)
    if all(answer_file(folder, name).exists() for name in entry["answers"]):
        return None
    lost = what_became_of(job, folder)
    return Underway(job, cells, False, lost.why, lost.detail)


def sweep(folder: Path) -> None:
    """Remove folders of runs so old that nothing in them can be of use."""
    for old in folder.glob("*"):
        if time.time() - max(path.stat().st_mtime for path in (old, *old.glob("*"))) > SWEEP_SECONDS:
            shutil.rmtree(old, ignore_errors=True)


def executor(folder: Path, options: SlurmOptions, gpus: int, at_once: int) -> Any:
    """submitit's, with the options as sbatch wants them."""
    os.environ.setdefault("SUBMITIT_PREEMPT_SIGNAL", "USR2")
    import submitit

    made = submitit.SlurmExecutor(folder, max_num_timeout=options.requeues, python=options.python or None)
    named = {name: getattr(options, name) for name in ("partition", "account", "qos", "constraint")}
    made.update_parameters(
        **{name: value for name, value in named.items() if value},
        **({"mem": f"{round(options.memory_gb * 1024)}MB"} if options.memory_gb else {}),
        **({"gpus_per_node": gpus} if gpus else {}),
        job_name="initbench",
        time=options.minutes(),
        cpus_per_task=options.cpus,
        signal_delay_s=options.warning_seconds,
        array_parallelism=at_once,
        setup=[options.setup] if options.setup else None,
        additional_parameters={"requeue": True},
    )
    return made


def ask(*command: str) -> str | None:
    """What one of SLURM's commands prints; None when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def queue() -> dict[str, str] | None:
    """Job → state of every job of this user that SLURM still holds; None when it does not answer."""
    printed = ask("squeue", "--me", "--noheader", "--array", "--states=all", "--format=%i|%T")
    return None if printed is None else dict(line.strip().split("|", 1) for line in printed.splitlines() if "|" in line)


def what_became_of(job: str, folder: Path) -> Lost:
    """Why a job is gone that left no answer: SLURM's word and the end of its log."""
    shown = ask("scontrol", "show", "job", "--oneliner", job) or ""
    match = re.search(r"JobState=(\w+)", shown)
    state = match[1] if match else accounted(job)
    log = last_lines(sorted(folder.glob(f"{job}_*_log.err")))
    why = ENDS.get(state, "died")
    if why == "died" and re.search(r"oom.?kill|out of memory", log, re.IGNORECASE):
        why = "out of memory"
    if why == "died" and "timed-out too many times" in log:
        why = "time limit"
    code = re.search(r" ExitCode=(\S+)", shown)
    said = f"SLURM job {job}: {state or 'not known to SLURM any more'}{f', exit code {code[1]}' if code else ''}"
    return Lost(why, f"{said}\n{LAST_WORDS}\n{log}" if log else said)


def accounted(job: str) -> str:
    """The state that the accounting data base keeps, where there is one."""
    printed = ask("sacct", "--noheader", "--parsable2", "--allocations", "--format=State", "--jobs", job) or ""
    return printed.split()[0] if printed.split() else ""


def last_lines(logs: Iterable[Path]) -> str:
    """The end of a job's log."""
    lines = [line for log in logs for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return "\n".join(lines[-LOG_LINES:])
