"""What may stand in a spec file: one model per kind of file, each field documented under itself."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from benchmark.parameters import Parameters
from benchmark.seeds import LARGEST_SEED, MOST_SEEDS

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=80)]
ArmName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*(\[[^\[\]]+\])?$", max_length=160)]
ParameterMap = dict[str, Any]


def as_list(value: Any) -> Any:
    """A single value where a list is expected counts as a list of one."""
    return value if value is None or isinstance(value, list | tuple) else (value,)


def as_selection(value: Any) -> Any:
    """`mask` is short for `{name: mask}`."""
    return {"name": value} if isinstance(value, str) else value


Globs = Annotated[tuple[str, ...], BeforeValidator(as_list, json_schema_input_type=str | list[str])]
Integers = Annotated[tuple[int, ...], BeforeValidator(as_list, json_schema_input_type=int | list[int])]
Text = Annotated[tuple[str, ...], BeforeValidator(as_list, json_schema_input_type=str | list[str])]


class TaskSpec(Parameters):
    """A file of `tasks/`: a family with its parameters at each profile."""

    task: Name
    """Name by which experiments ask for the task."""
    title: str = ""
    """Heading in tables; the name when absent."""
    family: Name
    """Registered task family that implements it, for example `boolean`."""
    source: str = ""
    """Where the task comes from: paper and place, repository and commit."""
    description: str = ""
    """What is learned, and what a good result shows."""
    primary: str | None = None
    """Metric that ranks initialisers; the family's first metric when absent."""
    parameters: ParameterMap = Field(default_factory=dict)
    """Parameters of the family that all profiles share."""
    profiles: dict[Name, ParameterMap] = Field(default_factory=dict)
    """Profile name → parameters laid over `parameters`, key by key; without profiles, `parameters` serve every one."""
    stand_in: Name | None = None
    """Task that stands in at profiles this one does not have; its cells are then skipped instead of refused."""

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task


class When(Parameters):
    """Which tasks an override is for; every key that is given must match."""

    task: Globs = ("*",)
    """Task names, `*` and `?` allowed."""
    family: Globs = ("*",)
    """Task families, `*` and `?` allowed."""
    profile: Globs = ("*",)
    """Profiles, `*` and `?` allowed."""


class Override(Parameters):
    """Parameters of an initialiser that differ on some tasks."""

    when: When
    """The tasks meant."""
    parameters: ParameterMap
    """Laid over the initialiser's `parameters`, key by key; later overrides win."""


class InitializerSpec(Parameters):
    """A file of `initializers/`: a family with its parameters, and where they differ by task."""

    initializer: Name
    """Name by which experiments ask for the initialiser."""
    title: str = ""
    """Heading in tables; the name when absent."""
    family: Name
    """Registered initialiser family that implements it, for example `mask`."""
    source: str = ""
    """Where the method comes from: paper and place, repository and commit."""
    description: str = ""
    """What it does to the model."""
    parameters: ParameterMap = Field(default_factory=dict)
    """Parameters of the family."""
    overrides: tuple[Override, ...] = ()
    """Parameters that differ on some tasks."""

    @property
    def name(self) -> str:
        """The initialiser's name."""
        return self.initializer


AxisValues = Annotated[list[Any] | dict[str, ParameterMap], Field(min_length=1)]


class Selected(Parameters):
    """A task or an initialiser of an experiment; a bare name is short for `{name: ...}`."""

    name: Name
    """Name of a spec or of a registered family without one."""
    display: Name | None = Field(default=None, alias="as")
    """Name in tables and in the store, needed when one spec is used with several parameters."""
    parameters: ParameterMap = Field(default_factory=dict)
    """Laid over the spec's parameters, key by key."""
    grid: dict[Name, AxisValues] = Field(default_factory=dict)
    """Axis → its values; every combination is an arm of its own, shown as `mask[contrast=5]`. A list holds values of
    the parameter the axis is called by (dots lead into mappings: `optimizer.learning_rate`); a mapping has, for each
    value, the parameters it stands for: `contrast: {"5": {open: 5, close: -5}}`."""

    @property
    def shown(self) -> str:
        """Name in tables and in the store."""
        return self.display or self.name


SelectedName = Annotated[Selected, BeforeValidator(as_selection, json_schema_input_type=str | Selected)]
Selection = Annotated[
    tuple[SelectedName, ...],
    Field(min_length=1),
    BeforeValidator(as_list, json_schema_input_type=SelectedName | list[SelectedName]),
]


class SelectedProbe(Parameters):
    """A probe of an experiment; a bare name is short for `{name: ...}`."""

    name: Name
    """Name of a registered probe."""
    parameters: ParameterMap = Field(default_factory=dict)
    """Parameters of the probe; every one has `steps`, `every_point` and `examples`."""


SelectedProbes = Annotated[
    tuple[Annotated[SelectedProbe, BeforeValidator(as_selection, json_schema_input_type=str | SelectedProbe)], ...],
    BeforeValidator(as_list, json_schema_input_type=str | SelectedProbe | list[str | SelectedProbe]),
]


class Rule(Parameters):
    """Cells of the grid; every key that is given must match."""

    task: Globs = ("*",)
    """Task names as shown, `*` and `?` allowed."""
    initializer: Globs = ("*",)
    """Initialiser names as shown, `*` and `?` allowed."""
    seed: Integers = ()
    """Seeds; all of them when absent."""


class Exclusion(Rule):
    """Cells that are not run, and why."""

    reason: str = "excluded by the spec"
    """Shown in the plan and in tables."""


class Table(Parameters):
    """One table of the leaderboard."""

    title: str
    """Heading."""
    claims_table: Text = ()
    """Tables of the source whose published numbers stand beside the measured ones, for example `Table 3`."""
    tasks: Globs = ("*",)
    """Task names as shown, in this order, `*` and `?` allowed."""
    initializers: Globs = ("*",)
    """Initialiser names as shown, in this order, `*` and `?` allowed."""
    metrics: Globs = ()
    """Metric names; each task's primary metric when absent."""


class CheckSetting(Parameters):
    """How one check is run on this experiment."""

    severity: Literal["error", "warning", "info", "off"] | None = None
    """Replaces the check's own severity."""
    threshold: float | None = Field(default=None, ge=0)
    """Replaces the check's own threshold, in the check's unit; 0 or more."""
    exceptions: Text = Field(default=(), alias="except")
    """Task, initialiser or metric names, or `task × initialiser`, the check leaves alone; `*` and `?` allowed."""


SeedCount = Annotated[int, Field(ge=1, le=MOST_SEEDS)]
SeedNumber = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
SeedList = Annotated[tuple[SeedNumber, ...], Field(max_length=MOST_SEEDS)]


class Experiment(Parameters):
    """A file of `specs/`: tasks × initialisers × seeds at one profile, and what to say about them."""

    experiment: Name
    """Name of the experiment."""
    title: str = ""
    """Heading of reports; the name when absent."""
    description: str = ""
    """What is asked, and of which publication."""
    readings: dict[str, str] = Field(default_factory=dict)
    """Outcome → what it would mean, written before the experiment is run; shown by reports."""
    profile: Name = "compact"
    """Scale: `compact` (two CPU cores) or `paper` (as published); `--profile` overrides it."""
    seeds: SeedCount | SeedList = 5
    """A count n for seeds 0 to n − 1, or a list of seeds; `--seeds` overrides it."""
    tasks: Selection
    """Tasks, by name or as `{name, as, parameters}`."""
    initializers: Selection
    """Initialisers, by name or as `{name, as, parameters}`; the first one is the baseline."""
    probes: SelectedProbes = ()
    """Probes that measure the models while they train, for example `drift`; they change no cell's numbers."""
    include: Annotated[tuple[Rule, ...], BeforeValidator(as_list, json_schema_input_type=Rule | list[Rule])] = ()
    """When given, only cells that match one of these rules are run."""
    exclude: Annotated[
        tuple[Exclusion, ...], BeforeValidator(as_list, json_schema_input_type=Exclusion | list[Exclusion])
    ] = ()
    """Cells that are not run, with the reason."""
    plugins: Text = ()
    """Python files that register tasks or initialisers, relative to this file."""
    claims: Text = ()
    """Names of sets of published numbers to stand beside the measured ones."""
    tables: tuple[Table, ...] = ()
    """Tables of the leaderboard; one table of everything when absent."""
    compare: dict[ArmName, Globs] = Field(default_factory=dict)
    """Initialiser (an arm of a grid: `"mask[contrast=5]"`) → those it is compared with in reports, a question each, for
    example `mask: [default, mimetic]`; all against the baseline when absent."""
    checks: dict[str, CheckSetting] = Field(default_factory=dict)
    """Check id → severity, threshold and exceptions of `bench check`."""

    @field_validator("seeds")
    @classmethod
    def seeds_are_named_once(cls, seeds: int | tuple[int, ...]) -> int | tuple[int, ...]:
        """A seed listed twice would count twice."""
        if isinstance(seeds, tuple):
            if not seeds:
                raise ValueError("an empty list; name at least one seed")
            twice = [seed for seed, count in Counter(seeds).items() if count > 1]
            if twice:
                raise ValueError(f"{', '.join(map(str, sorted(twice)))} listed more than once")
        return seeds

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.experiment

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds, one by one."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds


KINDS: dict[str, type[TaskSpec] | type[InitializerSpec] | type[Experiment]] = {
    "task": TaskSpec,
    "initializer": InitializerSpec,
    "experiment": Experiment,
}
"""First key of a file → model of the file."""
