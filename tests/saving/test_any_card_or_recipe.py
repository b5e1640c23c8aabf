"""Cards, recipes and counts: any bytes or value give an object, or one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclust.core.files import parse_json
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.guides import PredictiveFilter
from pyroclust.models import nig_mixture
from pyroclust.recipes import Recipe, read_recipe
from pyroclust.saving.cards import GuideCard, read_card
from pyroclust.saving.guides import save_guide

ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FINITE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**90), 10**90)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
RECIPE = {
    "about": "tiny",
    "model": {"name": "nig_mixture", "dim": 1},
    "light": {"width": 8, "num_bandwidths": 2},
    "order": {"class": "RandomOrder"},
    "training": {"steps": 2, "max_points": 10},
    "validation": {"num_draws": 5},
}
TABLES = st.sampled_from([name for name in RECIPE if name != "about"])


def one_sentence(call: Callable[[], Any]) -> Any:
    """Return what a call gives, ``None`` after a ValueError, which has to be one sentence."""
    try:
        return call()
    except ValueError as error:
        said = str(error)
        assert 0 < len(said) < 900, said
        return None


@ONE_FOLDER
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_no_card_and_no_recipe(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "card.json").write_bytes(content)
    (tmp_path / "r.toml").write_bytes(content)
    with pytest.raises(ValueError, match=r"card\.json"):
        read_card(tmp_path)
    with pytest.raises(ValueError, match=r"r\.toml"):
        read_recipe(tmp_path / "r.toml")


@given(st.text(max_size=60))
def test_any_text_is_json_or_refused(text: str) -> None:
    one_sentence(lambda: parse_json(text))


@given(FINITE)
def test_json_gives_back_what_was_written(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@ONE_FOLDER
@given(st.data())
def test_a_card_with_any_entry_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    if not (tmp_path / "good.json").is_file():
        save_guide(PredictiveFilter(nig_mixture(1)), tmp_path, card={"about": "a test"})
        (tmp_path / "card.json").rename(tmp_path / "good.json")
    content = json.loads((tmp_path / "good.json").read_text())
    key = data.draw(st.sampled_from(sorted(content)))
    content[key] = data.draw(VALUES)
    (tmp_path / "card.json").write_text(json.dumps(content))
    card = one_sentence(lambda: read_card(tmp_path))
    assert card is None or isinstance(card, GuideCard)


@ONE_FOLDER
@given(st.data())
def test_a_recipe_with_any_entry_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    table = data.draw(TABLES)
    entry = data.draw(st.sampled_from([*RECIPE[table], "seed", "every"]))
    scalar = data.draw(st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8")))
    tables = {one: dict(RECIPE[one]) for one in RECIPE if one != "about"}
    tables[table][entry] = scalar
    lines = ['about = "tiny"']
    for name, entries in tables.items():
        lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in entries.items())]
    (tmp_path / "r.toml").write_text("\n".join(lines), encoding="utf-8")
    recipe = one_sentence(lambda: read_recipe(tmp_path / "r.toml"))
    assert recipe is None or isinstance(recipe, Recipe)


@given(VALUES)
def test_any_value_is_a_count_or_refused(value: Any) -> None:
    found = one_sentence(lambda: check_count("num_draws", value))
    assert found is None or (found == value and type(found) is int)
    found = one_sentence(lambda: check_seed(value))
    assert found is None or (found == value and type(found) is int)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)
