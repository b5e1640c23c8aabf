"""Every public function that takes data, given anything: something right, or one sentence."""

import importlib
import inspect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from properties.calls import Call, all_calls, judge_example
from properties.not_tested import NOT_TESTED

CALLS = all_calls()
PACKAGES = (
    *("", "calibration", "data", "diagnostics", "distributions", "guides", "infer", "infer.mcmc", "models"),
    *("nn", "partitions", "plots", "report"),
)
# Of these, classes take numbers and data as well.
WITH_CLASSES = ("data", "distributions", "guides", "infer", "infer.mcmc", "models", "nn")


@pytest.mark.parametrize("call", CALLS, ids=str)
@settings(max_examples=12)
@given(data=st.data())
def test_anything_gives_something_right_or_one_sentence(call: Call, data: DataObject) -> None:
    judge_example(call, data)


@pytest.mark.prove
@pytest.mark.parametrize("call", CALLS, ids=str)
@settings(max_examples=500)
@given(data=st.data())
def test_more_of_the_same(call: Call, data: DataObject) -> None:
    judge_example(call, data)


def public_functions(package: str) -> set[str]:
    face = importlib.import_module(f"pyroclust.{package}".strip("."))
    every = set(face.__all__)
    if package not in WITH_CLASSES:
        every = {name for name in every if inspect.isfunction(getattr(face, name))}
    return {f"{package}.{name}".strip(".") for name in every}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_function_is_passed_over(package: str) -> None:
    missing = public_functions(package) - {call.name for call in CALLS} - set(NOT_TESTED)
    assert not missing, f"{sorted(missing)}: write a Call in tests/properties, or a reason in NOT_TESTED"


def test_every_reason_is_needed() -> None:
    known = {name for package in PACKAGES for name in public_functions(package)}
    assert set(NOT_TESTED) <= known - {call.name for call in CALLS}
    assert all(NOT_TESTED.values())
