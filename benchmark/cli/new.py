"""`bench new`: a file to start from."""

from __future__ import annotations

import re
from pathlib import Path

import click

from benchmark.errors import UsageError

TEMPLATES = Path(__file__).parent / "templates"


@click.command()
@click.argument("kind", type=click.Choice(["task", "initializer", "probe", "spec"]))
@click.argument("name")
@click.option("--dir", "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Folder.")
def command(kind: str, name: str, folder: Path) -> None:
    """Write a commented file that runs as it is: a task family, an initializer, a probe or a spec called NAME."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
        raise UsageError(f"'{name}' is no name; use letters, digits and _ . + -")
    check_free(kind, name)
    files = starting_files(kind, name)
    for path in files:
        if (folder / path).exists():
            raise UsageError(f"{folder / path} exists and is left as it is; choose another name or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        with (folder / path).open("x", encoding="utf-8") as stream:
            stream.write(text)
        click.echo(f"wrote {folder / path}")
    click.echo(NEXT[kind].format(file=folder / next(iter(files)), name=name))


def check_free(kind: str, name: str) -> None:
    """Refuse a name that is taken; a second family or spec of it could not be used. Raises UsageError."""
    from benchmark.registry import Registry
    from benchmark.spec.catalog import Catalog, SpecKind

    specs: dict[str, SpecKind] = {
        "task": "task", "initializer": "initializer", "probe": "probe", "spec": "experiment",
    }  # fmt: skip
    taken = [file.shown for file in Catalog.discover().files(specs[kind]) if file.name == name]
    if (family := specs[kind]) != "experiment":
        taken += [entry.origin for entry in Registry.discover().entries(family) if entry.name == name]
    if taken:
        raise UsageError(f"the name of {kind} '{name}' is taken by {taken[0]}; choose another name")


NEXT = {
    "task": "Next: bench show {name} --plugin {file}; bench run SPEC --plugin {file} adds it to SPEC.",
    "initializer": "Next: bench show {name} --plugin {file}; bench run SPEC --plugin {file} adds it to SPEC.",
    "probe": "Next: bench show {name} --plugin {file}; list it under `probes:` of a spec, {file} under `plugins:`.",
    "spec": "Next: bench plan {file}; bench run {file}",
}


def starting_files(kind: str, name: str) -> dict[str, str]:
    """File name → text."""
    filled = {}
    templates = {"spec": ["spec.yaml"], "probe": ["probe.py"]}.get(kind, [f"{kind}.py", f"{kind}.yaml"])
    for template in templates:
        text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
        suffix = template.partition(".")[2]
        stem = re.sub(r"\W", "_", name) if suffix == "py" else name
        filled[f"{stem}.{suffix}"] = text.replace("NAME", name).replace("CLASS", class_name(name))
    return filled


def class_name(name: str) -> str:
    """`my-init` → `MyInit`."""
    camel = "".join(part[:1].upper() + part[1:] for part in re.split(r"\W|_", name))
    return camel if camel.isidentifier() else f"Family{camel}"
