"""What README, examples and documentation import is public, and what is public says what it is."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FACES = (
    "pyroclust",
    "pyroclust.analysis",
    "pyroclust.baselines",
    "pyroclust.calibration",
    "pyroclust.partitions.constraints",
    "pyroclust.diagnostics",
    "pyroclust.distributions",
    "pyroclust.guides",
    "pyroclust.infer",
    "pyroclust.infer.mcmc",
    "pyroclust.models",
    "pyroclust.nn",
    "pyroclust.partitions",
    "pyroclust.sklearn",
    "pyroclust.plots",
    "pyroclust.report",
)
# Benchmarks time parts of the library that users do not call, and the gallery shows pictures of such parts.
INSIDE = {
    "benchmarks": {
        "pyroclust.analysis.chains",
        "pyroclust.analysis.picking",
        "pyroclust.analysis.steps",
        "pyroclust.calibration.accuracy",
        "pyroclust.calibration.checking",
        "pyroclust.calibration.certificate",
        "pyroclust.calibration.simulations",
        "pyroclust.core.compiling",
        "pyroclust.data.tables",
        "pyroclust.diagnostics.chains",
        "pyroclust.diagnostics.split_clusters",
        "pyroclust.diagnostics.limits",
        "pyroclust.distributions.families.inverse_wishart",
        "pyroclust.distributions.compiled.protocol",
        "pyroclust.distributions.families.normal_inverse_wishart",
        "pyroclust.distributions.families.partly_observed",
        "pyroclust.distributions.families.clustered_data",
        "pyroclust.distributions.clusterwise_partition",
        "pyroclust.distributions.protocols",
        "pyroclust.distributions.sequential.scorer",
        "pyroclust.guides.exact_filters",
        "pyroclust.distributions.families.poisson_gamma",
        "pyroclust.core.files",
        "pyroclust.guides.base",
        "pyroclust.infer.simulation",
        "pyroclust.infer.losses",
        "pyroclust.infer.mcmc.chains",
        "pyroclust.infer.mcmc.named_kernels",
        "pyroclust.infer.quality",
        "pyroclust.core.large_tables",
        "pyroclust.models.standardised",
        "pyroclust.core.random_state",
        "pyroclust.recipes.tables",
        "pyroclust.recipes.training_runs",
        "pyroclust.saving.cards",
        "pyroclust.saving.models",
        "pyroclust.core.machine",
    },
    "docs": {"pyroclust.diagnostics.limits", "pyroclust.saving.cards"},
}


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def sources(folder: str) -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


PAGES = [
    page
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    # The gallery shows one line of code a picture, on data that the page does not make.
    if page.name != "gallery.md"
]
PUBLISHED = {
    f"{page.name}-{number}": code for page in PAGES for number, code in enumerate(blocks(page))
} | sources("examples")


def imported(code: str) -> list[tuple[str, str]]:
    """List module and name of all that is imported from the library."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return [one for one in found if one[0].split(".")[0] == "pyroclust"]


def is_public(module: str, name: str) -> bool:
    if f"{module}.{name}".removesuffix(".") in FACES:
        return True
    return module in FACES and name in importlib.import_module(module).__all__


def test_what_users_are_shown_is_public():
    for source, code in PUBLISHED.items():
        hidden = [one for one in imported(code) if not is_public(*one)]
        assert not hidden, f"{source} imports {hidden}: not in __all__ of a face"


@pytest.mark.parametrize("folder", ["benchmarks", "docs"])
def test_scripts_look_inside_only_where_they_say_so(folder):
    used = set()
    for source, code in sources(folder).items():
        for module, name in imported(code):
            assert not name.startswith("_"), f"{source} imports the private name {module}.{name}"
            if not is_public(module, name):
                used.add(module)
    assert used == INSIDE[folder], "list what is used, and only that"


@pytest.mark.parametrize("face", FACES)
def test_public_names_are_sorted_exist_and_say_what_they_are(face):
    module = importlib.import_module(face)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value):
            assert inspect.getdoc(value), f"{face}.{name} has no docstring"
            assert value.__doc__, f"{face}.{name} has the docstring of its base alone"


def test_no_two_public_functions_share_a_name():
    homes: dict[str, set[object]] = {}
    for face in FACES:
        module = importlib.import_module(face)
        for name in module.__all__:
            if inspect.isfunction(value := getattr(module, name)):
                homes.setdefault(name, set()).add(value)
    assert {name for name, found in homes.items() if len(found) > 1} == set()
