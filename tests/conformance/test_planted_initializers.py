"""Each planted fault of an initialiser is found by the rule it breaks, and by no other."""

from __future__ import annotations

import math
import os
import threading

import pytest
import torch

from benchmark.conformance.subject import Pair
from benchmark.initializer import Initializer, ParameterRule
from benchmark.nn.attention import attentions

counted = []


class Base(Initializer):
    family = "planted"

    def apply(self, model, context):
        pass


class Raising(Base):
    def apply(self, model, context):
        raise KeyError("no such head")


class NotANumber(Base):
    def apply(self, model, context):
        attentions(model)[0].query.weight[0, 0] = math.nan


class NotANumberInABuffer(Base):
    def apply(self, model, context):
        model.register_buffer("extra", torch.zeros(2))
        attentions(model)[0].register_buffer("future", torch.full((5, 5), math.nan))


class Double(Base):
    def apply(self, model, context):
        attentions(model)[0].proj.double()


class RequiresGrad(Base):
    def apply(self, model, context):
        attentions(model)[0].query.weight.requires_grad_(False)


class RuleWithoutParameter(Base):
    def parameter_rules(self):
        return (ParameterRule("*.priors"),)


class Reseeding(Base):
    def apply(self, model, context):
        torch.manual_seed(0)
        attentions(model)[0].query.weight.normal_()


class DefaultDtype(Base):
    def apply(self, model, context):
        torch.set_default_dtype(torch.float64)


class Threads(Base):
    def apply(self, model, context):
        torch.set_num_threads(torch.get_num_threads() + 1)


class GradientsOff(Base):
    def apply(self, model, context):
        torch._C._set_grad_enabled(True)


class Environment(Base):
    def apply(self, model, context):
        os.environ["PLANTED"] = str(len(os.environ))


class Folder(Base):
    def apply(self, model, context):
        os.chdir("/")


class LeftThread(Base):
    def apply(self, model, context):
        threading.Thread(target=threading.Event().wait, args=(20,), daemon=True).start()


class Counting(Base):
    def apply(self, model, context):
        counted.append(1)
        attentions(model)[0].value.weight.mul_(len(counted))


class OtherGenerator(Base):
    def apply(self, model, context):
        generator = torch.Generator()
        generator.seed()
        attentions(model)[0].value.weight.normal_(generator=generator)


class EmptyReason(Base):
    def unsupported(self, task):
        return ""


class Wavering(Base):
    def unsupported(self, task):
        counted.append(1)
        return "today" if len(counted) % 2 else None


PLANTED = {
    Raising: ("apply", "KeyError: 'no such head'"),
    NotANumber: ("apply", "query.weight has 1 values of 64 that are not finite"),
    NotANumberInABuffer: ("apply", "future has NaN"),
    Double: ("apply", "is torch.float64 and was torch.float32"),
    RequiresGrad: ("apply", "query.weight has requires_grad False"),
    RuleWithoutParameter: ("rules", "parameter rule '*.priors' matches none"),
    Reseeding: ("reseeding", "`apply` calls torch.manual_seed"),
    DefaultDtype: ("global-state", "`apply` changes torch's default dtype (from torch.float32 to torch.float64)"),
    Threads: ("global-state", "torch's number of threads"),
    GradientsOff: ("global-state", "torch.set_grad_enabled (from False to True)"),
    Environment: ("global-state", "os.environ (PLANTED)"),
    Folder: ("global-state", "the current folder"),
    LeftThread: ("global-state", "`apply` leaves behind a thread that still runs"),
    Counting: ("twice", "loss at step 0"),
    OtherGenerator: ("twice", "loss at step 0"),
    EmptyReason: ("unsupported", "neither None nor a reason"),
    Wavering: ("unsupported", "and asked again"),
}
ALSO = {"twice": {"after-another", "stack"}, "apply": {"trains"}, "global-state": {"stack", "trains"}}
"""Rules that a fault breaks as well."""


@pytest.fixture(autouse=True)
def _restored(monkeypatch):
    monkeypatch.chdir(os.getcwd())  # noqa: PTH109 - what is changed is put back
    before = dict(os.environ), torch.get_default_dtype()
    yield
    os.environ.pop("PLANTED", None)
    torch.set_default_dtype(before[1])


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_planted_fault_is_found_by_its_rule(found, kind):
    rule, fragment = PLANTED[kind]
    said = found(kind(), numbers=rule == "twice")
    assert any(fragment in sentence for sentence in said[rule]), said
    assert set(said) <= {rule, *ALSO.get(rule, ())}, said


def test_what_unsupported_lets_pass_must_be_startable(found, toy):
    class Layers(Base):
        def apply(self, model, context):
            if context.task.has_pattern():
                return
            raise IndexError("no pattern to encode")

    class Patternless(toy.Sound):
        def has_pattern(self):
            return False

    (sentence,) = found(Layers(), others=[Pair("patternless", Patternless(), Layers())])["unsupported"]
    assert "returns None for task patternless" in sentence
    assert "IndexError: no pattern to encode (" in sentence
    assert "test_planted_initializers.py:" in sentence
