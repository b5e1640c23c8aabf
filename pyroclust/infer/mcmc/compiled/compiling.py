"""How compiled functions are made, and kept on disk."""

from collections.abc import Callable, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import IndexDataCacheFile

from pyroclust.infer.mcmc.compiled.protocol import COMPILE_OPTIONS, LEAN_OPTIONS

__all__ = ["compiled", "lean"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function that may allocate arrays, and take a random number generator from Python.

    It runs without Python's lock. Its machine code is kept on disk while no file of ``pyroclust/infer/mcmc``
    changes: it contains the code of all that it calls, yet numba on its own would look at the file of the
    caller alone.

    Args:
        function: a function that numba can compile.
    """
    return _cached(function, COMPILE_OPTIONS)


def lean(function: Callable[..., Any]) -> Any:
    """Compile a function that allocates nothing, like :func:`compiled` otherwise.

    The arrays it works on belong to its caller and are not reference-counted: with named tuples of arrays
    the counting takes up to ten times as long as the work. Numba refuses to compile it if it allocates, by
    ``a + b`` or ``a[:] = b`` of arrays too. Called from Python with a generator it would leak the generator.

    Args:
        function: a function that numba can compile.
    """
    return _cached(function, LEAN_OPTIONS)


class _Index(IndexDataCacheFile):
    """Numba's index of the machine code of a function; types that exist no more make it empty, not fail."""

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()
        except (AttributeError, ImportError, TypeError):
            return {}


def _cached(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    dispatcher = njit(cache=True, nogil=True, **options)(function)
    # No public way to widen the stamp: where a version of numba keeps it elsewhere, its own is left as it is.
    store: Any = getattr(dispatcher, "_cache", None)
    index = getattr(store, "_cache_file", None)
    if isinstance(index, IndexDataCacheFile):
        stamp = (index._source_stamp, _folder_stamp())
        store._cache_file = _Index(store._cache_path, store._impl.filename_base, stamp)
    return dispatcher


@cache
def _folder_stamp() -> str:
    digest = blake2b(digest_size=16)
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
