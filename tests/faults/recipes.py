"""Recipes that are wrong, and recipes, cards and folders whose text a terminal would obey."""

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

from faults.cases import Case, refused, run_command, snapshot, table

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.models import nig_mixture
from pyroclust.recipes import read_recipe
from pyroclust.saving.cards import read_card
from pyroclust.saving.guides import load_guide, save_guide

CASES, _case, case = table("recipes")

_RECIPE = """
about = "tiny"
[model]
name = "nig_mixture"
dim = 1
concentration = 1.0
[light]
width = 8
num_bandwidths = 2
[order]
class = "RandomOrder"
[training]
steps = 2
max_points = 10
points_per_step = 50
learning_rate = 0.002
[validation]
every = 50
num_datasets = 2
exact_points = 3
sampled_points = 5
num_draws = 5
"""
_OF_DATA = """
[model]
name = "deep_mixture"
event_shape = [2]
num_clusters = 3
[data]
source = "iris"
[guide]
class = "DeepMixtureGuide"
[training]
steps = 2
min_points = 10
max_points = 10
points_per_step = 10
"""
_MODEL = '[model]\nname = "nig_mixture"\ndim = 1\n'
_HOSTILE = "[/red] [bold]loud[/] \x1b[31mred\x1b]0;title\x07 $\\frac \u202edlrow\r\nnew line \u2028 :skull:"


def _wrong(name: str, words: str, make: Callable[[], str | bytes]) -> Case:
    """A recipe that ``train`` refuses in one sentence, exit 2, without writing anything."""

    def run(folder: Path) -> str:
        made = make()
        (folder / "r.toml").write_bytes(made.encode() if isinstance(made, str) else made)
        before = snapshot(folder)
        code, out, err = run_command(["train", "r.toml", "--out", "t", "--quick"])
        assert code == 2, f"exit code {code}, expected 2: {out or err}"
        assert not out, out
        assert snapshot(folder) == before, "something was written"

        def say() -> None:
            raise ValueError(err)

        return refused(say, words)

    return _case(name, f"exit 2, nothing written: “{words}”", run)


def _edited(name: str, words: str, old: str, new: str) -> Case:
    def make() -> str:
        assert old in _RECIPE
        return _RECIPE.replace(old, new, 1)

    return _wrong(name, words, make)


def _edited_data(name: str, words: str, old: str, new: str) -> Case:
    def make() -> str:
        assert old in _OF_DATA
        return _OF_DATA.replace(old, new, 1)

    return _wrong(name, words, make)


def _plain(said: str) -> str:
    """Check that a terminal obeys nothing in what was printed, and that no markup was taken for one."""
    lines = said.split("\n")
    assert all(line.isprintable() for line in lines), f"control characters reach the terminal: {said!r}"
    joined = "".join(said.split())
    for mark in ("[/red]", "[bold]loud[/]", r"\x1b[31mred", r"\u202e", ":skull:"):
        assert mark in joined, f"'{mark}' is not in: {said!r}"
    return " ".join(said.split())


def _toml(text: str) -> str:
    # A string of JSON is one of TOML.
    return json.dumps(text)


@case("markup and escape sequences in `about`, trained", "trained; printed as they are")
def _trained(folder: Path) -> str:
    from pyroclust.calibration import CertificateSettings

    (folder / "r.toml").write_text(_RECIPE.replace('"tiny"', _toml(_HOSTILE)))
    nothing = classmethod(lambda cls: CertificateSettings.nothing())
    with mock.patch.object(CertificateSettings, "quick", nothing):
        code, out, err = run_command(["train", "r.toml", "--out", "[/red]$\\frac$", "--quick"])
    assert code == 0, err
    assert read_card(folder / "[/red]$\\frac$").about == _HOSTILE
    load_guide(folder / "[/red]$\\frac$")
    assert "Written: [/red]$\\frac$" in out, out
    assert (folder / "[/red]$\\frac$" / "training.png").is_file()
    return _plain(out)


@case("a picture of the training that fails", "a sentence; the guide is there")
def _without_a_picture(folder: Path) -> None:
    from pyroclust.calibration import CertificateSettings

    (folder / "r.toml").write_text(_RECIPE)
    nothing = classmethod(lambda cls: CertificateSettings.nothing())
    with (
        mock.patch.object(CertificateSettings, "quick", nothing),
        mock.patch("pyroclust.plots.plot_training", side_effect=RuntimeError("no font")),
    ):
        code, _, err = run_command(["train", "r.toml", "--out", "t", "--quick", "--json"])
    assert code == 0, err
    load_guide(folder / "t")
    assert "The picture training.png could not be made and is left out: no font." in err, err


@case("markup and escape sequences in cards, guides", "printed as they are")
def _listed(folder: Path) -> str:
    from msgspec import structs

    from pyroclust.saving import cards

    real = cards.list_guides()[0]
    model = cards.Described(_HOSTILE, real.model_arguments)
    strange = [
        structs.replace(real, about=_HOSTILE),
        structs.replace(real, name=_HOSTILE, described_model=model),
    ]
    with mock.patch("pyroclust.cli.guides.list_guides", return_value=tuple(strange)):
        code, out, err = run_command(["guides"])
    assert code == 0, err
    return _plain(out)


def _saved(folder: Path) -> None:
    guide = NeuralClusteringProcess(nig_mixture(1)).eval()
    save_guide(guide, folder, card={"about": _HOSTILE, "max_points": 8})


@case("markup and escape sequences in a name, check", "printed as they are")
def _printed_certificate(folder: Path) -> str:
    from msgspec import structs

    from pyroclust.calibration import CertificateSettings
    from pyroclust.calibration.checking import check_guide
    from pyroclust.cli.guides import _show

    _saved(folder / "g")
    result = check_guide(folder / "g", settings=CertificateSettings.nothing())
    strange = replace(result, card=structs.replace(result.card, name=_HOSTILE))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        _show(strange, f"Stored: {_HOSTILE}")
    assert out.getvalue().count("[bold]loud[/]") == 2, out.getvalue()
    return _plain(out.getvalue())


@case("markup and escape sequences in stages and bars", "printed as they are")
def _stages(folder: Path) -> None:
    from pyroclust.core.long_runs import progress_bar, stages

    err = io.StringIO()
    err.isatty = lambda: True  # type: ignore[method-assign]
    with mock.patch.dict("os.environ", {"TERM": "xterm", "COLUMNS": "400"}), contextlib.redirect_stderr(err):
        with stages() as tell:
            tell(f"summarising {_HOSTILE}")
        with progress_bar("[/red]", 3, shown=True) as step:
            step(1, "[/red]")
    said = err.getvalue()
    assert "\x1b[31mred" not in said, repr(said)
    assert "\x07" not in said, repr(said)
    assert "\u202e" not in said, repr(said)
    assert "[/red] [bold]loud[/]" in said, repr(said)


@case("markup and escape sequences in a folder's name", "printed as they are", slow=True)
def _compared(folder: Path) -> None:
    place = folder / "[bold]loud[] \x1b[31mred $\\frac$ [red]"
    _saved(place)
    rows = "\n".join(f"{x / 7:.3f}" for x in range(-10, 10))
    (folder / "x.csv").write_text(f"[bold]x\n{rows}\n")
    code, out, err = run_command(
        ["compare", "x.csv", "--guide", str(place), "--draws", "20", "--mcmc-draws", "20", "--chains", "1"]
    )
    assert code == 0, err
    said = out + err
    assert all(line.isprintable() for line in said.split("\n")), repr(said)
    assert r"[bold]loud[]\x1b[31mred" in "".join(said.split()), said


@case("markup and escape sequences in `about`, read", "kept as they are")
def _same_after_reading(folder: Path) -> None:
    (folder / "r.toml").write_text(_RECIPE.replace('"tiny"', _toml(_HOSTILE)))
    assert read_recipe(folder / "r.toml").about == _HOSTILE


@case("a recipe with a mark of UTF-8, as Windows writes it", "read")
def _marked(folder: Path) -> str:
    (folder / "r.toml").write_text(_RECIPE, encoding="utf-8-sig")
    return str(read_recipe(folder / "r.toml").about)


CASES += [
    _wrong("an empty recipe", "expected either [model]", lambda: ""),
    _wrong("a recipe that is not UTF-8", "no UTF-8", lambda: b'about = "\xff\xfe"'),
    _wrong("a recipe in UTF-16", "no UTF-8", lambda: _RECIPE.encode("utf-16")),
    _wrong("a recipe of zero bytes", "not valid TOML", lambda: bytes(2000)),
    _wrong("a recipe cut off", "not valid TOML", lambda: _RECIPE[: _RECIPE.index("RandomOrder")]),
    _wrong("a recipe of 2 MiB", "more than 1 MiB", lambda: _RECIPE + "#" * (2 << 20)),
    _wrong("a recipe of brackets", "not valid TOML", lambda: "about = " + "[" * 100_000),
    _wrong("tables 40 deep", "nested more than", lambda: f"{_RECIPE}[{'.'.join('a' * 40)}]\n"),
    _wrong("a table twice", "not valid TOML", lambda: _RECIPE + "[training]\nsteps = 3\n"),
    _wrong("a number of 5000 digits", "not valid TOML", lambda: "seed = " + "9" * 5000 + _RECIPE),
    _edited("a key twice", "not valid TOML", "steps = 2", "steps = 2\nsteps = 3"),
    _edited("an escape sequence as a key", "unknown key", "about =", '"\\u001b[31m" ='),
    _edited("markup as a key", "unknown key '[/red]'", "about =", '"[/red]" ='),
    _edited("about is a number", "'about' is 5, expected text", '"tiny"', "5"),
    _edited("about is a list", "'about' is ['x'], expected text", '"tiny"', '["x"]'),
    _edited("a date", "a date or a time", '"tiny"', "2020-01-01"),
    _edited("a negative seed", "seed is -1", "about", "seed = -1\nabout"),
    _edited("a seed with decimals", "seed is 1.0", "about", "seed = 1.0\nabout"),
    _edited("a seed of 2^80", "seed is", "about", f"seed = {2**80}\nabout"),
    _wrong(
        "training is a number",
        "'training' is 5, expected a table",
        lambda: "training = 5\n" + _RECIPE.split("[training]")[0],
    ),
    _edited("training is a list of tables", "expected a table [training]", "[training]", "[[training]]"),
    _wrong("no model", "expected either [model]", lambda: "[light]\nwidth = 8\n"),
    _edited("a model without a name", "unknown model 'mixture'", 'name = "nig_mixture"\n', ""),
    _edited("an unknown model", "unknown model", "nig_mixture", "os.system"),
    _edited("dim 0", "dim is 0", "dim = 1", "dim = 0"),
    _edited("dim is text", "dim", "dim = 1", 'dim = "one"'),
    _edited("a dim of a million million", "GiB of memory", "dim = 1", "dim = 1_000_000_000_000"),
    _edited("concentration nan", "nan or inf", "concentration = 1.0", "concentration = nan"),
    _edited("concentration infinite", "nan or inf", "concentration = 1.0", "concentration = inf"),
    _edited("concentration negative", "concentration", "concentration = 1.0", "concentration = -1.0"),
    _edited("concentration 1e400", "nan or inf", "concentration = 1.0", "concentration = 1e400"),
    _edited("a width of a million asks for terabytes", "allocate memory", "width = 8", "width = 1_000_000"),
    _edited("a width of 10^30", "width", "width = 8", f"width = {10**30}"),
    _edited("a negative width", "width", "width = 8", "width = -8"),
    _edited("an unknown visiting order", "unknown class 'eval'", '"RandomOrder"', '"eval"'),
    _edited("a visiting order that is a number", "order", '"RandomOrder"', "3"),
    _edited("an order without a class", "order", 'class = "RandomOrder"', "bandwidth = -1.0"),
    _wrong(
        "an unknown class of guides", "unknown class 'eval'", lambda: _MODEL + '[guide]\nclass = "eval"\n'
    ),
    _edited_data("data that are not there", "unknown data set 'irises'", '"iris"', '"irises"'),
    _edited_data("data of another shape", "points of shape (2,), expected (3,)", "[2]", "[3]"),
    _edited_data(
        "labels of data that have none", "labels_per_class is -1", '"iris"', '"iris"\nlabels_per_class = -1'
    ),
    _edited_data(
        "an unknown deformation", "unknown class 'eval'", '"iris"', '"iris"\ndeformation = { class = "eval" }'
    ),
    _edited_data("a deep guide without data", "data is None", '[data]\nsource = "iris"\n', ""),
    _edited_data(
        "an unknown law of observations",
        "unknown class",
        "num_clusters = 3",
        'observation = { class = "os" }',
    ),
    _edited_data("one cluster", "num_clusters is 1", "num_clusters = 3", "num_clusters = 1"),
    _edited("steps negative", "steps is -2", "steps = 2", "steps = -2"),
    _edited("steps 10^30", "steps", "steps = 2", f"steps = {10**30}"),
    _edited(
        "a negative seed of the validation", "validation.seed is -1", "every = 50", "every = 50\nseed = -1"
    ),
    _edited("a learning rate of 0", "learning_rate", "0.002", "0.0"),
    _edited("a negative learning rate", "learning_rate", "0.002", "-0.1"),
    _edited("a learning rate that is text", "learning_rate", "0.002", '"fast"'),
    _edited("max_points 1", "max_points", "max_points = 10", "max_points = 1"),
    _edited("more draws than memory", "num_draws", "num_draws = 5", "num_draws = 1_000_000_000_000"),
    _edited("validation with exact_points 30", "exact_points", "exact_points = 3", "exact_points = 30"),
    _edited(
        "start from a guide that is not there",
        "unknown guide",
        '[light]\nwidth = 8\nnum_bandwidths = 2\n[order]\nclass = "RandomOrder"',
        '[start]\nguide = "nobody"',
    ),
    _edited(
        "a folder of tables that is not there",
        "nowhere",
        '[model]\nname = "nig_mixture"\ndim = 1\nconcentration = 1.0',
        '[tables]\nfolder = "nowhere"\nlabel = "y"',
    ),
]
