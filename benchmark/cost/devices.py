"""What a device can do, from its vendor's data sheet, and what part of that a training step is taken to reach."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from benchmark.cost.work import Pass
from benchmark.errors import UsageError

TENSOR_CORE_FRACTION = 0.60
"""Part of the bfloat16 peak that matrix products are taken to reach. With the part of the bandwidth below, a step of
ViT-T on an RTX 3090 comes out at 0.99 of what timm measured, one of ViT-S at 1.22 (docs/cost.md)."""
FLOAT32_FRACTION = 0.60
"""Part of the float32 peak; the engine leaves TF32 off, as torch does."""
BANDWIDTH_FRACTION = 0.85
"""Part of the memory bandwidth that operations are taken to reach."""
LAUNCH_SECONDS = 10e-6
"""Time the host needs to ask for one operation; with small models the device waits for it."""
USABLE_MEMORY = 0.90
"""Part of the memory that a cell may take; the rest is the driver's, the allocator's and the libraries'."""

TERA, GIGA = 1e12, 1e9


@dataclass(frozen=True)
class Device:
    """A GPU: peak rates without sparsity, in operations and bytes per second."""

    name: str
    reported: str
    """Pattern of the name the driver reports."""
    float32: float
    bfloat16: float | None
    """None without hardware for it; then float32 is taken."""
    bandwidth: float
    memory: float
    """Bytes."""
    source: str

    def seconds(self, work: Pass, cells: int = 1, precision: str = "float32") -> float:
        """Expected time of one run of a program for a stack of `cells`, all assumptions of this module made: as long
        as the device computes, or as long as the host needs to launch the operations, whichever is longer."""
        return max(launching(work), cells * self.computing(work, precision))

    def computing(self, work: Pass, precision: str = "float32") -> float:
        """Seconds for one cell: each operation takes as long as its products or its memory traffic, the longer one."""
        half = precision == "bfloat16" and self.bfloat16 is not None
        rate = (self.bfloat16 or 0) * TENSOR_CORE_FRACTION if half else self.float32 * FLOAT32_FRACTION
        bandwidth = self.bandwidth * BANDWIDTH_FRACTION
        return sum(max(flops / rate, size / bandwidth) for flops, size in work.operations)


def launching(work: Pass) -> float:
    """Seconds the host needs to launch a program's operations, for a stack of any size."""
    return len(work.operations) * LAUNCH_SECONDS


def _gpu(
    name: str, reported: str, float32: float, bfloat16: float | None, bandwidth: float, memory: float, source: str
) -> Device:
    """From TFLOP/s, GB/s and GB."""
    half = None if bfloat16 is None else bfloat16 * TERA
    return Device(name, reported, float32 * TERA, half, bandwidth * GIGA, memory * GIGA, source)


DEVICES = (
    _gpu("T4", "*T4", 8.1, None, 300, 16, "NVIDIA T4 data sheet"),
    _gpu("L4", "*L4", 30.3, 121, 300, 24, "NVIDIA L4 data sheet (bf16 half of the rate with sparsity)"),
    _gpu("L40S", "*L40S", 91.6, 362, 864, 48, "NVIDIA L40S data sheet"),
    _gpu("RTX-3090", "*RTX 3090", 35.6, 71, 936, 24, "NVIDIA Ampere GA102 whitepaper (float32 accumulation)"),
    _gpu("RTX-4090", "*RTX 4090", 82.6, 165.2, 1008, 24, "NVIDIA Ada whitepaper (float32 accumulation)"),
    _gpu("A100-40GB", "*A100*40GB*", 19.5, 312, 1555, 40, "NVIDIA A100 data sheet"),
    _gpu("A100-80GB", "*A100*80GB*", 19.5, 312, 2039, 80, "NVIDIA A100 data sheet (SXM)"),
    _gpu("H100", "*H100*", 67, 989.4, 3350, 80, "NVIDIA H100 data sheet (SXM, half of the rate with sparsity)"),
    _gpu("H200", "*H200*", 67, 989.4, 4800, 141, "NVIDIA H200 data sheet (SXM, half of the rate with sparsity)"),
)

CPU = "cpu"
DEFAULT = "A100-40GB"


def names() -> tuple[str, ...]:
    """Every name `device` takes."""
    return (*(device.name for device in DEVICES), CPU)


def device(name: str) -> Device | None:
    """The GPU of that name, upper or lower case, with spaces or dashes; None for `cpu`, whose rate is only measured.

    Raises:
        UsageError: no such device, with what there is.
    """
    wanted = name.strip().lower().replace(" ", "-")
    if wanted == CPU:
        return None
    found = {device.name.lower(): device for device in DEVICES}
    if wanted not in found:
        longer = [known for known in found if wanted and known.startswith(wanted)]
        near = longer or get_close_matches(wanted, found, n=1, cutoff=0.4)
        hint = f" Did you mean {' or '.join(repr(found[known].name) for known in near)}?" if near else ""
        raise UsageError(f"no GPU '{name}'.{hint} There are: {', '.join(names())}")
    return found[wanted]


def ran_on(wanted: Device | None, stored_device: str, gpus: list[str]) -> bool:
    """Whether a stored cell was trained on this device, by what its record says."""
    if wanted is None:
        return stored_device == CPU
    return stored_device.startswith("cuda") and any(fnmatchcase(name, wanted.reported) for name in gpus)
