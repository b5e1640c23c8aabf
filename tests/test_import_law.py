"""Who may import whom, read from the syntax trees."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAPPED = {"models": "pyroclust.models", "guides": "pyroclust.guides"}

# A package may import itself and these packages of ours.
ALLOWED = {
    "pyroclust.partitions": set(),
    "pyroclust.threads": set(),
    "pyroclust.distributions": {"pyroclust.partitions", "pyroclust.threads"},
    "pyroclust.nn": {"pyroclust.partitions", "pyroclust.distributions"},
    "pyroclust.models": {"pyroclust.partitions", "pyroclust.distributions", "pyroclust.nn"},
    "pyroclust.guides": {"pyroclust.partitions", "pyroclust.distributions", "pyroclust.nn"},
    "pyroclust.infer": {
        "pyroclust.atomic",
        "pyroclust.partitions",
        "pyroclust.distributions",
        "pyroclust.nn",
    },
    "pyroclust.atomic": set(),
    "pyroclust.diagnostics": {"pyroclust.partitions", "pyroclust.threads"},
    "pyroclust.baselines": {"pyroclust.partitions", "pyroclust.diagnostics"},
    "pyroclust.calibration": {"pyroclust.diagnostics", "pyroclust.infer"},
    "pyroclust.summaries": {
        "pyroclust.baselines",
        "pyroclust.calibration",
        "pyroclust.diagnostics",
        "pyroclust.standardise",
        "pyroclust.tables",
    },
    "pyroclust.plots": {"pyroclust.diagnostics"},
    "pyroclust.report": {
        "pyroclust.calibration",
        "pyroclust.diagnostics",
        "pyroclust.plots",
        "pyroclust.summaries",
    },
    "pyroclust.suggestions": set(),
    "pyroclust.reading": {"pyroclust.diagnostics", "pyroclust.partitions", "pyroclust.suggestions"},
    "pyroclust.exporting": {
        "pyroclust.diagnostics",
        "pyroclust.distributions",
        "pyroclust.infer",
        "pyroclust.partitions",
        "pyroclust.suggestions",
    },
    "pyroclust.tables": {"pyroclust.suggestions"},
    "pyroclust.standardise": {"pyroclust.tables"},
    "pyroclust.descriptions": {
        "pyroclust.distributions",
        "pyroclust.models",
        "pyroclust.guides",
        "pyroclust.suggestions",
    },
    "pyroclust.recipes": {
        "pyroclust.atomic",
        "pyroclust.certification",
        "pyroclust.descriptions",
        "pyroclust.guides",
        "pyroclust.infer",
        "pyroclust.labelled",
        "pyroclust.models",
        "pyroclust.nn",
        "pyroclust.plots",
        "pyroclust.pretrained",
        "pyroclust.suggestions",
    },
    "pyroclust.cards": {"pyroclust.suggestions"},
}
# What diagnostics may import from elsewhere, besides the standard library.
DIAGNOSTICS = {"numpy", "scipy", "numba", "arviz_stats", "pyroclust"}
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


def package_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


@pytest.mark.parametrize("module", SOURCES)
def test_imports_point_one_way(module):
    package = package_of(module)
    for name, level in imports(SOURCES[module]):
        assert level == 0, f"{module} imports {name} relatively; write the absolute name"
        assert name.split(".")[0] not in MAPPED, f"{module} imports {name}; write pyroclust.{name}"
        if name.split(".")[0] == "pyroclust" and package in ALLOWED:
            allowed = ALLOWED[package] | {package}
            assert package_of(name) in allowed, f"{module} imports {name}, allowed are {sorted(allowed)}"


@pytest.mark.parametrize("module", [name for name in SOURCES if name.startswith("pyroclust.diagnostics")])
def test_diagnostics_need_only_arrays(module):
    found = {name.split(".")[0] for name, _ in imports(SOURCES[module])}
    assert found <= DIAGNOSTICS | STANDARD, f"{module} imports {sorted(found - DIAGNOSTICS - STANDARD)}"


def test_only_the_command_line_imports_the_command_line():
    for module, path in SOURCES.items():
        if package_of(module) not in ("pyroclust.cli", "pyroclust.__main__"):
            assert not [name for name, _ in imports(path) if package_of(name) == "pyroclust.cli"], module


@pytest.mark.parametrize("folder", ["tests", "examples", "benchmarks"])
def test_scripts_use_installed_names(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        for name, _ in imports(path):
            assert name.split(".")[0] not in MAPPED, f"{path} imports {name}; write pyroclust.{name}"


def test_every_folder_has_its_rule():
    folders = {package_of(name) for name, path in SOURCES.items() if path.name == "__init__.py"}
    assert folders - {"pyroclust", "pyroclust.cli"} <= set(ALLOWED)
