"""Recipes that are wrong, and recipes, cards and folders whose text a terminal would obey."""

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

from faults.cases import Case, refused, run_command, snapshot, table
from msgspec import structs
from rich.console import Console

from pyroclust.calibration import CertificateSettings
from pyroclust.calibration.checking import check_guide
from pyroclust.cli.console import print_plainly
from pyroclust.cli.guides import certificate_view
from pyroclust.core.long_runs import progress_bar, stages
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.models import nig_mixture
from pyroclust.saving import cards
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
_OF_MODEL = f"{_MODEL}concentration = 1.0"
_OF_TABLES = '[tables]\nfolder = "nowhere"\nlabel = "y"'
_NETWORK = '[light]\nwidth = 8\nnum_bandwidths = 2\n[order]\nclass = "RandomOrder"'
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


def _edited(name: str, words: str, old: str, new: str, text: str = _RECIPE) -> Case:
    assert old in text
    return _wrong(name, words, lambda: text.replace(old, new, 1))


def _plain(said: str) -> str:
    """Check that a terminal obeys nothing in what was printed, and that no markup was taken for one."""
    lines = said.split("\n")
    assert all(line.isprintable() for line in lines), f"control characters reach the terminal: {said!r}"
    joined = "".join(said.split())
    for mark in ("[/red]", "[bold]loud[/]", r"\x1b[31mred", r"\u202e", ":skull:"):
        assert mark in joined, f"'{mark}' is not in: {said!r}"
    return " ".join(said.split())


def _train(out: str, *more: str) -> tuple[str, str]:
    """Train with a certificate that measures nothing; return what was said."""
    nothing = classmethod(lambda cls: CertificateSettings.nothing())
    with mock.patch.object(CertificateSettings, "quick", nothing):
        code, said, err = run_command(["train", "r.toml", "--out", out, "--quick", *more])
    assert code == 0, err
    return said, err


@case("markup and escape sequences in `about`, trained", "kept; printed as they are")
def _trained(folder: Path) -> str:
    # A string of JSON is one of TOML.
    (folder / "r.toml").write_text(_RECIPE.replace('"tiny"', json.dumps(_HOSTILE)))
    out, _ = _train("[/red]$\\frac$")
    assert read_card(folder / "[/red]$\\frac$").about == _HOSTILE
    load_guide(folder / "[/red]$\\frac$")
    assert "Written: [/red]$\\frac$" in out, out
    assert (folder / "[/red]$\\frac$" / "training.png").is_file()
    return _plain(out)


@case("a picture of the training that fails", "a sentence; the guide is there")
def _without_a_picture(folder: Path) -> None:
    (folder / "r.toml").write_text(_RECIPE, encoding="utf-8-sig")  # with a mark, as Windows writes it
    with mock.patch("pyroclust.plots.plot_training", side_effect=RuntimeError("no font")):
        _, err = _train("t", "--json")
    load_guide(folder / "t")
    assert "The picture training.png could not be made and is left out: no font." in err, err


@case("markup and escape sequences in cards, guides", "printed as they are")
def _listed(folder: Path) -> str:
    real = cards.list_guides()[0]
    model = cards.Described(_HOSTILE, real.model_arguments)
    strange = (
        structs.replace(real, about=_HOSTILE),
        structs.replace(real, name=_HOSTILE, described_model=model),
    )
    with mock.patch("pyroclust.cli.guides.list_guides", return_value=strange):
        code, out, err = run_command(["guides"])
    assert code == 0, err
    return _plain(out)


def _saved(folder: Path) -> None:
    guide = NeuralClusteringProcess(nig_mixture(1)).eval()
    save_guide(guide, folder, card={"about": _HOSTILE, "max_points": 8})


@case("markup and escape sequences in a name, check", "printed as they are")
def _printed_certificate(folder: Path) -> str:
    _saved(folder / "g")
    result = check_guide(folder / "g", settings=CertificateSettings.nothing())
    strange, out = replace(result, card=structs.replace(result.card, name=_HOSTILE)), io.StringIO()
    console = Console(file=out, width=80)
    console.print(certificate_view(strange), highlight=False)
    print_plainly(console, f"Stored: {_HOSTILE}")
    assert out.getvalue().count("[bold]loud[/]") == 2, out.getvalue()
    return _plain(out.getvalue())


@case("markup and escape sequences in stages and bars", "printed as they are")
def _stages(folder: Path) -> None:
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


CASES += [
    *(
        _wrong(name, words, lambda content=content: content)
        for name, words, content in (
            ("a recipe in UTF-16", "no UTF-8", _RECIPE.encode("utf-16")),
            ("a recipe of zero bytes", "not valid TOML", bytes(2000)),
            ("a recipe of 2 MiB", "more than 1 MiB", _RECIPE + "#" * (2 << 20)),
            ("a recipe of brackets", "not valid TOML", "about = " + "[" * 100_000),
            ("tables 40 deep", "nested more than", f"{_RECIPE}[{'.'.join('a' * 40)}]\n"),
            ("a number of 5000 digits", "not valid TOML", "seed = " + "9" * 5000 + _RECIPE),
            (
                "training is a number",
                "'training' is 5, expected a table",
                "training = 5\n" + _RECIPE.split("[training]")[0],
            ),
        )
    ),
    *(
        _edited(name, words, old, new)
        for name, words, old, new in (
            ("a key twice", "not valid TOML", "steps = 2", "steps = 2\nsteps = 3"),
            ("an escape sequence as a key", "unknown key", "about =", '"\\u001b[31m" ='),
            ("a date", "a date or a time", '"tiny"', "2020-01-01"),
            ("training is a list of tables", "expected a table [training]", "[training]", "[[training]]"),
            ("a dim of a million million", "GiB of memory", "dim = 1", "dim = 1_000_000_000_000"),
            ("concentration 1e400", "nan or inf", "concentration = 1.0", "concentration = 1e400"),
            ("a width that asks for terabytes", "allocate memory", "width = 8", "width = 1_000_000"),
            ("a validation's negative seed", "validation.seed is -1", "every = 50", "every = 50\nseed = -1"),
            ("more draws than memory", "num_draws", "num_draws = 5", "num_draws = 1_000_000_000_000"),
            ("a guide to start from that is nowhere", "unknown guide", _NETWORK, '[start]\nguide = "nobody"'),
            ("a folder of tables that is nowhere", "nowhere", _OF_MODEL, _OF_TABLES),
        )
    ),
    *(
        _edited(name, words, old, new, _OF_DATA)
        for name, words, old, new in (
            ("data that are not there", "unknown data set 'irises'", '"iris"', '"irises"'),
            ("a deep guide without data", "data is None", '[data]\nsource = "iris"\n', ""),
            ("an unknown law", "unknown class", "num_clusters = 3", 'observation = { class = "os" }'),
        )
    ),
]
