"""Who may import whom, read from the syntax trees: every module has a row, and none is passed over."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAPPED = {"models": "pyroclust.models", "guides": "pyroclust.guides", "recipes": "pyroclust.recipes.shipped"}

BASE = {"core", "partitions"}
LAWS = {
    "distributions",
    "distributions.compiled",
    "distributions.families",
    "distributions.perturbed_forest",
    "distributions.priors",
    "distributions.sequential",
}
DIAGNOSTICS = {"diagnostics", "diagnostics.limits"}
MCMC = {"infer.mcmc.compiled"}

# A row is a module or a package, without "pyroclust."; a module belongs to the longest row that it begins
# with. Beside a row stand the rows that its modules may import. Modules of one row may import one another,
# and a package's face (its __init__) may import all that lies inside of the package.
LAW: dict[str, set[str]] = {
    "core": set(),
    "partitions": {"core"},
    "distributions": BASE,
    "distributions.priors": BASE | {"distributions"},
    "distributions.compiled": BASE,
    "distributions.families": BASE | {"distributions", "distributions.compiled"},
    "distributions.sequential": BASE | {"distributions", "distributions.families", "distributions.priors"},
    "distributions.perturbed_forest": BASE | {"distributions", "distributions.priors"},
    "distributions.protocols": BASE | LAWS,
    "nn": BASE | LAWS,
    "models": BASE | LAWS | {"distributions.protocols", "nn"},
    "guides": BASE | LAWS | {"distributions.protocols", "nn"},
    "diagnostics.limits": set(),
    "diagnostics": BASE | {"diagnostics.limits"},
    "infer": BASE | DIAGNOSTICS | LAWS | {"distributions.protocols", "nn"},
    "infer.training": BASE | DIAGNOSTICS | LAWS | {"distributions.protocols", "infer", "infer.mcmc", "nn"},
    "infer.mcmc.compiled": BASE | {"distributions", "distributions.compiled", "distributions.protocols"},
    "infer.mcmc": BASE | DIAGNOSTICS | LAWS | MCMC | {"distributions.protocols", "infer"},
    "baselines": BASE | DIAGNOSTICS,
    "data": BASE,
    "data.draws": BASE | DIAGNOSTICS | LAWS | {"data", "infer", "infer.mcmc"},
    "saving": BASE | LAWS | {"distributions.protocols", "guides", "models", "nn"},
    "calibration": BASE
    | DIAGNOSTICS
    | LAWS
    | {"distributions.protocols", "guides", "infer", "infer.mcmc", "saving"},
    "results": BASE | DIAGNOSTICS | {"baselines", "data"},
    "plots": BASE | DIAGNOSTICS,
    "recipes": BASE
    | LAWS
    | {"calibration", "data", "guides", "infer", "infer.training", "models", "nn", "plots"}
    | {"saving"},
    "report": {"core", "baselines", "calibration", "data", "data.draws", "plots", "results"} | DIAGNOSTICS,
    "analysis": BASE
    | DIAGNOSTICS
    | LAWS
    | {"baselines", "calibration", "data", "data.draws", "distributions.protocols", "guides", "infer"}
    | {"infer.mcmc", "models", "report", "results", "saving"},
    "sklearn": DIAGNOSTICS | {"analysis"},
    "cli": BASE
    | DIAGNOSTICS
    | {"analysis", "calibration", "data", "data.draws", "infer", "infer.training", "plots"}
    | {"recipes", "report", "results", "saving"},
    "__main__": {"cli"},
}
# What methods of an analysis import when they are called: its page, which is a function of it, and what reads
# it back. No other module may import what imports it.
WHEN_CALLED = {
    "pyroclust.results.analysis": {
        "pyroclust.report",
        "pyroclust.report.writing",
        "pyroclust.results.files",
    },
}
# Modules that import others by names made up as they run, which the other tests cannot see: faces whose names
# are loaded when they are asked for.
BY_NAME = {"pyroclust", "pyroclust.partitions"}
IMPORTERS = {"import_module", "__import__", "exec", "eval", "runpy"}
# What diagnostics may import from elsewhere, besides the standard library.
ARRAYS = {"numpy", "scipy", "numba", "arviz_stats", "pyroclust"}
STANDARD = {
    "abc",
    "collections",
    "concurrent",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "math",
    "typing",
    "warnings",
}


def sources() -> dict[str, Path]:
    """Map module names to files, the mapped folders under their installed names."""
    found = {}
    for top, name in {"pyroclust": "pyroclust", **MAPPED}.items():
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT / top).with_suffix("").parts
            found[".".join([name, *parts]).removesuffix(".__init__")] = path
    return found


SOURCES = sources()


@cache
def imports(path: Path) -> list[tuple[str, int]]:
    """List imported modules with the level of relative imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names]
            # `from package import module` imports the module.
            found += [(name if name in SOURCES else module, node.level) for name in names]
    return found


def ours(module: str) -> list[str]:
    """List what a module imports of ours, but for what its methods do when they are called."""
    found = [name for name, _ in imports(SOURCES[module]) if name.split(".")[0] == "pyroclust"]
    return [name for name in found if name not in WHEN_CALLED.get(module, ())]


def row_of(module: str) -> str | None:
    """Return the longest row that a module begins with; None for the face of the whole library."""
    name = module.removeprefix("pyroclust").removeprefix(".")
    rows = [row for row in LAW if name == row or name.startswith(f"{row}.")]
    return max(rows, key=len, default=None)


def test_imports_point_one_way():
    for module in SOURCES:
        check_imports(module)


def check_imports(module):
    row, face = row_of(module), SOURCES[module].name == "__init__.py"
    assert row is not None or module == "pyroclust", f"{module} has no row: say whom it may import"
    for name, level in imports(SOURCES[module]):
        assert level == 0, f"{module} imports {name} relatively; write the absolute name"
        assert name.split(".")[0] not in MAPPED, f"{module} imports {name}; write pyroclust.{name}"
    for name in ours(module):
        if face and name.startswith(f"{module}."):
            continue
        if name == "pyroclust":
            assert row in ("cli", "__main__"), f"{module} imports the face of the library"
            continue
        allowed = LAW[row] | {row}
        assert row_of(name) in allowed, f"{module} imports {name}, allowed are {sorted(allowed)}"


@pytest.mark.parametrize("module", WHEN_CALLED)
def test_what_is_imported_when_a_method_is_called_is_imported_there_alone(module):
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    at_once = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert WHEN_CALLED[module] <= {name for name, _ in imports(SOURCES[module])} - at_once


def importers(path: Path) -> set[str]:
    """Return the names in a file by which modules can be imported without an import statement."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and node.attr not in ("eval", "exec"):
            found.add(node.attr)
    return found & IMPORTERS


def test_two_modules_import_by_name():
    assert {module for module, path in SOURCES.items() if importers(path)} == BY_NAME


def test_every_row_is_a_module_or_a_package():
    assert [row for row in LAW if f"pyroclust.{row}" not in SOURCES] == []


def in_or_above_a_circle(graph: dict[str, set[str]]) -> list[str]:
    """Return the names that are left when those that need none of the others are taken away in turn."""
    left = {name: needed - {name} for name, needed in graph.items()}
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


def test_no_modules_import_one_another_in_a_circle():
    assert in_or_above_a_circle({module: set(ours(module)) for module in SOURCES}) == []


def test_no_rows_may_import_one_another():
    assert in_or_above_a_circle(LAW) == []
    assert in_or_above_a_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]


def test_diagnostics_need_only_arrays():
    for module in (name for name in SOURCES if name.startswith("pyroclust.diagnostics")):
        found = {name.split(".")[0] for name, _ in imports(SOURCES[module])}
        assert found <= ARRAYS | STANDARD, f"{module} imports {sorted(found - ARRAYS - STANDARD)}"


@pytest.mark.parametrize("folder", ["tests", "examples", "benchmarks"])
def test_scripts_use_installed_names(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        for name, _ in imports(path):
            assert name.split(".")[0] not in MAPPED, f"{path} imports {name}; write pyroclust.{name}"
