"""ArviZ, imported whatever the user's folders are like."""

import warnings
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from unittest import mock

__all__ = ["arviz_module"]

_lock = Lock()


def arviz_module() -> Any:
    """Return the module ``arviz``, which is imported when it is first asked for.

    ArviZ 0.23 writes into the user's cache folder when it is imported, to announce its next version once a
    day. Where it cannot write there, it gets another folder for that; the announcement is not shown, since
    users of this library can do nothing about it.
    """
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            import arviz
        except OSError:
            with (
                TemporaryDirectory() as folder,
                mock.patch("platformdirs.user_cache_dir", return_value=folder),
            ):
                import arviz
    return arviz
