"""Docstrings say what they describe: each entry on a line of its own, under the name that the code has.

What a public face lists says all, also what it raises; elsewhere names may say it. A method that does what a
class above says of it needs no words of its own.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from test_faces import FACES
from test_import_law import SOURCES

Definition = ast.ClassDef | ast.FunctionDef
SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields", "Shape", "Example", "Examples", "References")
# Every distribution of torch takes it; every picture is drawn on the Axes that it is given.
UNSAID = ("validate_args", "ax", "axes")
# Of a class: where it refuses its arguments.
MAKING = ("__init__", "__post_init__", "__new__")
# What methods raise that subclasses must write.
ABSTRACT = {"NotImplementedError", "TypeError"}
# Entries are at the indentation of their section's body; what follows is further in.
ENTRY = re.compile(r"^\*{0,2}(\w+): ")


def listed() -> set[tuple[str, str]]:
    """Return module and name of every class and function that a face lists."""
    faces = [importlib.import_module(face) for face in FACES]
    values = [getattr(face, name) for face in faces for name in face.__all__]
    made = [one for one in values if inspect.isclass(one) or inspect.isfunction(one)]
    return {(one.__module__, one.__name__) for one in made}


LISTED = listed()


def public(node: ast.AST) -> bool:
    return isinstance(node, Definition) and not node.name.startswith("_")


def definitions(path: Path) -> Iterator[tuple[str, Definition, ast.ClassDef | None]]:
    """Yield public classes and functions of a module, and public methods, with the class they belong to."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if public(node):
            yield node.name, node, None
            if isinstance(node, ast.ClassDef):
                yield from ((f"{node.name}.{one.name}", one, node) for one in node.body if public(one))


def sections(docstring: str) -> dict[str, list[str]]:
    """Return the lines of every section, their common indentation removed."""
    found: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in docstring.splitlines():
        if (heading := line.removesuffix(":").removesuffix(":")) in SECTIONS and line.endswith(":"):
            lines = found.setdefault(heading, [])
        elif line and not line.startswith(" "):
            lines = None
        elif lines is not None:
            lines.append(line)
    return {name: inspect.cleandoc("\n" + "\n".join(lines)).splitlines() for name, lines in found.items()}


def is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(one) for one in node.decorator_list)


def is_tuple(node: ast.ClassDef) -> bool:
    return any(ast.unparse(one) in ("NamedTuple", "TypedDict") for one in node.bases)


def fields(node: ast.ClassDef) -> list[str]:
    """Return the fields that a dataclass or named tuple declares itself."""
    found = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    names = [one.target.id for one in found if "ClassVar" not in ast.unparse(one.annotation)]
    return [name for name in names if not name.startswith("_")]


def parameters(node: ast.FunctionDef, *, owner: ast.ClassDef | None) -> list[str]:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    every += [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
    static = owner is None or any(ast.unparse(one) == "staticmethod" for one in node.decorator_list)
    return [one.arg for one in every[0 if static else 1 :] if not one.arg.startswith("_")]


def constructor(node: ast.ClassDef) -> list[str] | None:
    """Return the parameters of the constructor, None where it is inherited or made by a decorator."""
    made = [
        one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in ("__init__", "__new__")
    ]
    return parameters(made[0], owner=node) if made else None


def raised(node: Definition) -> set[str]:
    """Return the errors that a function itself raises, or a class when one is made."""
    bodies: list[ast.AST] = [node]
    if isinstance(node, ast.ClassDef):
        bodies = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in MAKING]
    inside = [inner for one in bodies for inner in ast.walk(one)]
    calls = [one.exc for one in inside if isinstance(one, ast.Raise) and isinstance(one.exc, ast.Call)]
    names = {one.func.id for one in calls if isinstance(one.func, ast.Name)}
    return {name for name in names if name.endswith("Error")} - ABSTRACT


def overrides(module: str, owner: ast.ClassDef | None, name: str) -> bool:
    """Say whether a method stands for one of a class above, whose docstring says what it does."""
    above = getattr(importlib.import_module(module), owner.name).__mro__[1:] if owner else ()
    return any(name in vars(one) for one in above)


def problems(node: Definition, *, accepted: list[str] | None, is_listed: bool = True) -> list[str]:
    """List what is wrong with one docstring."""
    text = ast.get_docstring(node)
    if text is None:
        return ["has no docstring"] if is_listed else []
    parts = sections(text)
    own = fields(node) if isinstance(node, ast.ClassDef) and (is_dataclass(node) or is_tuple(node)) else []
    named = {name: [one[1] for line in lines if (one := ENTRY.match(line))] for name, lines in parts.items()}
    listed = named.get("Args", []) + named.get("Attributes", [])
    found = []
    if listed and is_listed:
        found += [f"field {name} has no line" for name in own if name not in listed]
    if accepted is not None and named.get("Args"):
        found += [f"{name} is no parameter" for name in named["Args"] if name not in [*accepted, *own]]
        found += [f"parameter {name} has no line" for name in accepted if name not in [*listed, *UNSAID]]
    unsaid = raised(node) - set(named.get("Raises", [])) if is_listed or "Raises" in parts else set()
    found += [f"{name} is not in Raises" for name in sorted(unsaid)]
    known = {*own, *(accepted or []), *listed}
    for section in ("Args", "Attributes", "Returns", "Raises"):
        for line in parts.get(section, []):
            inside = re.findall(r"(?<=[^\s`]) (\w+): ", line)
            found += [
                f"{name} stands inside a line of {section}"
                for name in inside
                if name in known or name.endswith(("Error", "Warning"))
            ]
        if section != "Returns" and section in parts:
            first = next((line for line in parts[section] if line), "")
            if not ENTRY.match(first):
                found.append(f"{section} does not begin with an entry: {first!r}")
    return found


def test_every_entry_has_its_own_line_and_its_true_name():
    found = {module: wrong for module in SOURCES if (wrong := problems_of(module))}
    assert not found


def problems_of(module: str) -> list[str]:
    written = ast.get_docstring(ast.parse(SOURCES[module].read_text(encoding="utf-8")))
    found = [] if written else ["has no docstring"]
    for name, node, owner in definitions(SOURCES[module]):
        accepted = constructor(node) if isinstance(node, ast.ClassDef) else parameters(node, owner=owner)
        is_listed = (module, (owner or node).name) in LISTED
        if ast.get_docstring(node) is None and is_listed and overrides(module, owner, node.name):
            continue
        found += [f"{name}: {one}" for one in problems(node, accepted=accepted, is_listed=is_listed)]
    return found


def example(source: str) -> Definition:
    (node,) = ast.parse(inspect.cleandoc(source)).body
    assert isinstance(node, Definition)
    return node


RUN_TOGETHER = '''
    @dataclass
    class Weights:
        """Weights of draws.

        Attributes:
            log: log weights, ``(S,)``. k: shape of the tail,
            bounded or not.
        """

        log: float
        k: float
'''
OLD_NAME = '''
    def weigh(draws, k):
        """Weigh draws.

        Args:
            samples: to be weighed.
            k: shape of the tail.
        """
'''
SILENT = '''
    class Weights:
        """Weights of draws.

        Raises:
            TypeError: never.
        """

        def __init__(self, log):
            if log > 0:
                raise ValueError("log")

        def best(self):
            raise KeyError("best")
'''


def test_broken_docstrings_are_found():
    assert problems(example(RUN_TOGETHER), accepted=None) == [
        "field k has no line",
        "k stands inside a line of Attributes",
    ]
    assert problems(example(OLD_NAME), accepted=["draws", "k"]) == [
        "samples is no parameter",
        "parameter draws has no line",
    ]
    assert problems(example("def bare(): pass"), accepted=[]) == ["has no docstring"]
    assert problems(example(SILENT), accepted=["log"]) == ["ValueError is not in Raises"]
    assert problems(example("def bare(): pass"), accepted=[], is_listed=False) == []
    assert problems(example(SILENT), accepted=["log"], is_listed=False) == ["ValueError is not in Raises"]
