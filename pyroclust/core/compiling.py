"""How the compiled functions of the library are made, and kept on disk."""

import os
import pickle
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import __version__ as numba_version
from numba import config, njit
from numba.core.caching import FunctionCache

# What is not said here, a function would inherit from whichever caller is compiled first.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "forceinline": False}
# Reassociation lets sums over dimensions use vector units; nan and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# Bytes at the end of a file of machine code that say whether the rest is whole.
_DIGEST = 16

_LIBRARY = Path(__file__).parents[1]
# The code of these is inlined into that of functions elsewhere.
_INLINED = [_LIBRARY / "distributions" / one for one in ("compiled", "families", "block_rates.py")]
_KERNELS = _LIBRARY / "infer" / "mcmc"


def compiled(
    function: Callable[..., Any] | None = None, *, allocates: bool = True, fastmath: bool = True
) -> Any:
    """Compile a function for compiled code and Python; it runs without Python's lock.

    Its machine code is kept on disk while the files that it may come from do not change: in
    ``NUMBA_CACHE_DIR`` where that is set, else beside its file, else in the user's cache folder. Where none
    of these can be written, or others may write there, nothing is kept.

    Args:
        function: a function that numba can compile.
        allocates: whether it may make arrays. Arrays of a function that makes none are not
            reference-counted: with named tuples of arrays the counting takes up to ten times as long as the
            work. Numba refuses it if it allocates after all, by ``a + b`` or ``a[:] = b`` of arrays too, and
            called from Python with a random number generator it would leak that.
        fastmath: whether sums may be reordered.
    """
    return _made(function, {"_nrt": allocates}, fastmath=fastmath)


def inner(function: Callable[..., Any] | None = None, *, fastmath: bool = True) -> Any:
    """Compile a function that allocates nothing and that only compiled functions call.

    The code that would read its arguments from Python objects is left out; for named tuples of arrays it is
    a quarter of all there is to compile. Called from Python, the function would end the process.
    """
    return _made(function, {"_nrt": False, **_INNER}, fastmath=fastmath)


def _made(function: Callable[..., Any] | None, options: Mapping[str, Any], *, fastmath: bool) -> Any:
    if function is None:
        return lambda other: _made(other, options, fastmath=fastmath)
    dispatcher = njit(**_OPTIONS, **options, fastmath=_FASTMATH if fastmath else False)(function)
    # Numba raises RuntimeError where no folder can be written.
    with suppress(RuntimeError):
        store = _Cache(function)
        if function.__closure__ is None and _is_private(Path(store.cache_path)):
            dispatcher._cache = store
    return dispatcher


class _Cache(FunctionCache):
    """Machine code of a function on disk: one file for each combination of types.

    Numba's own cache looks at the file of a function alone, though the code contains that of all that it
    calls; its index breaks where a type of an older version exists no more, and where two processes write at
    once. Here the name of a file says all that its content depends on.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # Now, not when code is saved: a file may be edited while this process still runs what it read.
        self._stamp = _stamp(Path(function.__code__.co_filename))

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            content = self._path(sig, target_context.codegen()).read_bytes()
            data, digest = content[:-_DIGEST], content[-_DIGEST:]
            # Damaged machine code would end the process, or compute something else.
            if blake2b(data, digest_size=_DIGEST).digest() != digest:
                return None
            return self._impl.rebuild(target_context, pickle.loads(data))
        except (OSError, EOFError, LookupError, ValueError, pickle.UnpicklingError):
            return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data):
            return
        with suppress(OSError, LookupError):
            path = self._path(sig, data.codegen)
            for old in path.parent.glob(f"{self._impl.filename_base}.*.nbc"):
                if old.name.split(".")[-3] != path.name.split(".")[-3]:
                    old.unlink(missing_ok=True)
            with self._cache_file._open_for_write(str(path)) as stream:
                content = self._cache_file._dump(self._impl.reduce(data))
                stream.write(content + blake2b(content, digest_size=_DIGEST).digest())

    def _path(self, sig: Any, codegen: Any) -> Path:
        made_for = str(getattr(config, "OPT", "")), repr(codegen.magic_tuple())
        key = _digest([str(sig), *made_for, repr(self._py_func.__code__.co_code)])
        return Path(self._cache_path) / f"{self._impl.filename_base}.{self._stamp}.{key}.nbc"


def _digest(parts: list[str]) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


@cache
def _stamp(path: Path) -> str:
    """Return a digest of all files that the code of a file may come from."""
    files = sorted(_origins(path))
    return _digest([numba_version, *(f"{one.name}\0{one.read_text('utf-8')}" for one in files)])


def _origins(path: Path) -> set[Path]:
    folder = _KERNELS
    if path.is_relative_to(_LIBRARY) and not path.is_relative_to(_KERNELS):
        parts = path.relative_to(_LIBRARY).parts[:-1]
        # Scorers and features call compiled code of another folder of networks.
        folder = _LIBRARY.joinpath(*parts[: 1 if parts[:1] == ("nn",) else 2])
    inlined = (one for home in _INLINED for one in ([home] if home.suffix else home.rglob("*.py")))
    return {path, Path(__file__), *folder.rglob("*.py"), *inlined}


def _is_private(folder: Path) -> bool:
    """Whether nobody else can put machine code into a folder."""
    if os.name == "nt":
        return True
    found = folder.stat()
    return not found.st_mode & stat.S_IWOTH and found.st_uid in (0, os.geteuid())
