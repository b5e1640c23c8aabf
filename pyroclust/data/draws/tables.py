"""Draws of partitions in tables: which way round they lie, columns that are points or say more of a draw."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.messages import listed, unknown_name, visible
from pyroclust.data.delimited_text import ReadingOptions, read_delimited
from pyroclust.data.numerals import MISSING, Cells, NumberFormat, find_number_format
from pyroclust.partitions.draws import Draws, draws_of_labels
from pyroclust.partitions.raw_labels import WEIGHT_NAMES, check_labels_fit, refuse_weights

_FEWEST, _ENOUGH = 4, 10
# Rows and columns that are looked at, and pairs of points.
_LOOKED_AT, _PAIRS = 400, 400
# Entropy along what would be a draw, beside that along what would be a point.
_LOW, _LOWER = 0.8, 0.6
# Consensus of what would be draws: where there is hardly any, nothing can be told.
_SOME, _MUCH = 0.1, 0.3


def draws_in_rows(
    labels: NDArray[np.generic], *, where: str, transpose: bool | None = None
) -> tuple[NDArray[np.generic], tuple[str, ...]]:
    """Return labels with one draw a row, and a note where the table lay the other way."""
    _refuse_pairs(labels, where)
    if transpose is not None:
        return (labels.T, ()) if transpose else (labels, ())
    if min(labels.shape) < _FEWEST:
        return labels, ()
    some = labels[:: -(-len(labels) // _LOOKED_AT), :: -(-labels.shape[1] // _LOOKED_AT)]
    _, codes = np.unique(some.astype(str) if some.dtype == object else some, return_inverse=True)
    codes = codes.reshape(some.shape)
    # Labels that are canonical in one direction lie in it. Else draws are what agrees on which pairs are
    # together, and the labels of one point vary less than those of one draw.
    by_rows, by_columns = _are_canonical(codes), _are_canonical(codes.T)
    along_rows, along_columns = _entropy(codes), _entropy(codes.T)
    of_columns, of_rows = _consensus(codes.T), _consensus(codes)
    is_turned = along_rows < _LOWER * along_columns and of_columns > max(_MUCH, 2 * of_rows)
    may_be_turned = along_rows < _LOW * along_columns and of_columns > max(_SOME, of_rows)
    rows, columns = labels.shape
    if by_columns if by_rows != by_columns else is_turned:
        return labels.T, (
            f"Read as {columns:,} draws of {rows:,} points, one draw a column, as labels hardly vary along a "
            "row. To read it the other way, give --no-transpose.",
        )
    if min(labels.shape) >= _ENOUGH and not by_rows and may_be_turned:
        raise ValueError(
            f"{where} can be read as {rows:,} draws of {columns:,} points, or as {columns:,} draws of "
            f"{rows:,} points: say which with --no-transpose or --transpose (transpose=False or True)"
        )
    return labels, ()


def _refuse_pairs(labels: NDArray[np.generic], where: str) -> None:
    """Refuse a table of how often two points were together."""
    rows, columns = labels.shape
    if rows != columns or rows < _FEWEST or not np.issubdtype(labels.dtype, np.number):
        return
    diagonal = np.diagonal(labels)
    if (labels == labels.T).all() and (labels <= diagonal[:, None]).all() and len(np.unique(diagonal)) == 1:
        raise ValueError(
            f"{where} is symmetric, as a table of how often two of {rows:,} points were together, expected "
            "draws of labels: one row a draw and one column a point"
        )


def _are_canonical(codes: NDArray[np.int64]) -> bool:
    """Say whether the labels of every row count up from the first."""
    most = np.maximum.accumulate(codes, axis=1)
    before = np.pad(most[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
    return bool((codes <= before + 1).all())


def _consensus(codes: NDArray[np.int64]) -> float:
    """Return how far rows agree on which pairs are together: their correlation, less what chance gives."""
    one, other = np.random.default_rng(0).integers(0, codes.shape[1], (2, _PAIRS))
    apart = one != other
    shares = (codes[:, one[apart]] == codes[:, other[apart]]).mean(0)
    mean = shares.mean()
    if mean in (0.0, 1.0):
        return 0.0
    return float(((shares - mean) ** 2).mean() / (mean * (1 - mean)) - 1 / len(codes))


def _entropy(codes: NDArray[np.int64]) -> float:
    """Return the mean entropy of the labels along the rows, in nats."""
    rows, columns = codes.shape
    ordered = np.sort(codes, axis=1)
    # Each run of equal labels adds its share times its logarithm.
    starts = np.concatenate([np.ones((rows, 1), bool), ordered[:, 1:] != ordered[:, :-1]], axis=1).ravel()
    shares = np.diff(np.append(np.flatnonzero(starts), starts.size)) / columns
    return -float((shares * np.log(shares)).sum()) / rows


# Lines that are looked at to tell names of columns from a draw.
_LINES = 100
_ZERO_FIRST = re.compile(r"\n0\d")
# Names of columns that are no points, without a leading dot and in lower case; Stan's end in two underscores.
_COUNTS = ("count", "counts", "freq", "frequency", "multiplicity", "probability", "prob", "posterior_prob")
_WARMUP = ("warmup", "is_warmup", "warm_up", "burnin", "is_burnin", "burn_in")
_BESIDE = {
    *("chain", "iteration", "draw", "log_joint", "lp", "log_prob", "num_clusters"),
    *(*WEIGHT_NAMES, *_COUNTS, *_WARMUP),
}
# More of them, which a point may have too: leaving them out is said.
_OF_A_DRAW = {
    *("id", "index", "row", "rowname", "rownames", "row_name", "row_names", "row_id", "rowid", "seed"),
    *("rng_seed", "iter", "step", "sweep", "sample", "sample_id", "draw_id", "iteration_id", "n_clusters"),
    *("nclusters", "nclust", "n_clust", "num_clust", "k_plus", "kplus", "num_components", "n_components"),
    *("concentration", "time", "elapsed", "seconds", "timestamp", "date", "datetime", "temperature"),
    *("energy", "thin", "accept", "accepted", "acceptance", "accept_prob", "accept_stat", "replicate"),
    *("rep", "run", "run_id", "log_lik", "loglik", "log_likelihood", "log_posterior", "logpost"),
    *("log_prior", "logprior", "log_density"),
}
_ALIASES = {f"chain_{end}": "chain" for end in ("id", "no", "nr", "num", "number", "idx", "index")}
_BETWEEN_WORDS = re.compile(r"[.\- ]")
# Names of the two columns of a table with one row for each point of each draw.
_POINT_OF_A_ROW = {"point", "item", "obs", "observation", "unit", "subject", "individual", "i", "n"}
_LABEL_OF_A_ROW = {"label", "cluster", "assignment", "class", "component", "group", "membership", "z"}
_NOT = {"", "0", "0.0", "false", "f", "no"}
_INDEX = re.compile(r"^(.+)\[(\d+)\]$")
# CmdStan writes z.1, which in other files is a name like any other.
_INDEX_OF_STAN = re.compile(r"^(.+)\[(\d+)\]$|^(.+)\.(\d+)$")
_DRAW = re.compile(r"(chain[ ._]?\d+[ ._])?(draw|iter|iteration|sweep)[ ._\[]?\d+\]?", re.IGNORECASE)
# Columns of tables that summarise draws; a point may have one such name, not two.
_STATISTIC = re.compile(
    r"mean|sd|std|std_?dev|median|mad|r_?hat|n_?eff|(ess|mcse)(_\w+)?|se_mean|(hdi|eti|hpd|ci)_?[\d.]+%?|q[\d.]+|[\d.]+%"
)
_ORDER = ("iteration", "draw")
_LOG_JOINT, _LOG_PROB = ("log_joint", "lp__", "lp"), ("log_prob",)
# Rows from which on a column that counts them, or never repeats a value, is no chance.
_MANY_ROWS, _SOME_ROWS = 10, 3


def read_table_draws(
    path: Path, *, variable: str | None, options: ReadingOptions, transpose: bool | None
) -> Draws:
    """Read draws from a table; see :func:`pyroclust.data.draws.reading.read_draws` for what it may hold."""
    where = f"'{path}'"
    check_labels_fit(where, path.stat().st_size // 2)
    found = read_delimited(path, options=options)
    rows = [[cell.strip() for cell in row] for row in found.cells]
    if not rows:
        raise ValueError(f"{where} is empty; expected one row a draw and one column a point")
    is_header, notes = _header_of_draws(rows[:_LINES]) if options.header is None else (options.header, ())
    first, body = rows[0], rows[is_header:]
    if is_header and first in body and not np.isfinite(_numbers(first)).all():
        raise ValueError(
            f"{where} has the names of its columns again in place of draw {body.index(first) + 1}, "
            "expected them once: remove such lines, or give --no-header if the first line is a draw too"
        )
    columns = [Cells([row[place] for row in body]) for place in range(len(first))]
    try:
        number_format = find_number_format(columns, delimiter=found.delimiter, decimal=options.decimal)
    except ValueError as error:
        raise ValueError(f"{where} is not a readable {path.suffix} table: {error}") from None
    frame = pd.DataFrame({place: _values(one, number_format) for place, one in enumerate(columns)})
    return draws_in_frame(
        frame.set_axis(first, axis=1) if is_header else frame,
        where=where,
        variable=variable,
        is_header=is_header,
        names_points=is_header and not notes,
        transpose=transpose,
        notes=(*found.notes, *number_format.notes, *notes),
    )


def _values(cells: Cells, number_format: NumberFormat) -> np.ndarray:
    """Return whole numbers, numbers, or text, also where numbers begin with zeros."""
    values, is_text = number_format.numbers(cells)
    if is_text.any() or _ZERO_FIRST.search("\n" + "\n".join(cells)):
        return np.array(cells, dtype=object)
    is_whole = (np.abs(values) < 2**53) & (values == np.round(values))
    return values.astype(np.int64) if is_whole.all() else values


def _header_of_draws(top: list[list[str]]) -> tuple[bool, tuple[str, ...]]:
    """Guess whether the first line names the columns of draws; a note says so where it holds numbers."""
    first, below = top[0], top[1:]
    numbers = _numbers(first)
    if not np.isnan(numbers).any():
        # The columns 0, 1, 2, ... that pandas writes, or a draw in which every point is alone.
        if len(numbers) < 3 or numbers[0] not in (0, 1) or (np.diff(numbers) != 1).any():
            return False, ()
        is_header = bool(below) and all(len(set(row)) < len(row) for row in below)
        what = "names of the columns" if is_header else "a draw"
        return is_header, (f"The first line, {numbers[0]:.0f} to {numbers[-1]:.0f}, was read as {what}.",)
    if not all(first):
        # Only an index has a column without a name, and it is the first.
        return not first[0] and all(first[1:]), ()
    # Labels may be names: then a draw repeats one, and the second line holds no numbers either.
    repeats = len(set(first)) < len(first)
    names_below = bool(below) and bool(np.isnan(_numbers(below[0])).any())
    return not (repeats and names_below), ()


def _numbers(cells: list[str]) -> np.ndarray:
    return NumberFormat().numbers(cells)[0]


def draws_in_frame(
    frame: pd.DataFrame,
    *,
    where: str,
    variable: str | None = None,
    is_header: bool = True,
    names_points: bool = True,
    transpose: bool | None = None,
    notes: tuple[str, ...] = (),
) -> Draws:
    """Return the draws in a table: a row a draw, a column a point, and columns that say more of a draw."""
    if len(frame) == 0:
        raise ValueError(f"{where} holds a header and no draws; expected one row a draw")
    beside: dict[str, np.ndarray] = {}
    if is_header:
        frame, beside, left = _without_known(frame.set_axis(_names(frame, where), axis=1))
        _refuse_names(frame, where)
        names, chosen = _points(frame, where, variable, is_stan=any(n.endswith("__") for n in beside))
        frame, notes = frame[names], (*notes, *left, *chosen)
    elif variable is not None:
        raise ValueError(f"variable is '{variable}', but {where} has no names of columns; leave it out")
    _refuse_counters(frame, where, is_header=is_header)
    if frame.shape[1] == 0:
        raise ValueError(f"{where} has no column that could be a point; expected one a point")
    labels = frame.to_numpy() if _are_numbers(frame) else _as_text(frame, where)
    names_points = names_points and not transpose
    if not beside or transpose is not None:
        labels, turned = draws_in_rows(labels, where=where, transpose=transpose)
        names_points, notes = names_points and not turned, (*notes, *turned)
    of_draws = [name for name in (*_LOG_JOINT, *_LOG_PROB) if name in beside]
    if transpose and of_draws:
        raise ValueError(
            f"transpose is True, but {where} has the column '{of_draws[0]}', one number a draw, where each "
            "row would be a point: leave transpose or the column out"
        )
    order, num_chains = _order({} if transpose else beside, len(labels), where)
    refuse_weights(beside, (len(labels),), where)
    _refuse_unequal(beside, where)

    def first(names: tuple[str, ...]) -> np.ndarray | None:
        return next((beside[name][order] for name in names if name in beside), None)

    return draws_of_labels(
        labels[order].reshape(num_chains, -1, labels.shape[1]),
        where=where,
        log_joint=first(_LOG_JOINT),
        log_prob=first(_LOG_PROB),
        point_names=tuple(str(name) for name in frame.columns) if names_points else None,
        notes=notes,
    )


def _without_known(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, np.ndarray], tuple[str, ...]]:
    """Divide a table with a header into candidates for points, what is known of each draw, and a note."""
    candidates, known, left_out = [], dict[str, np.ndarray](), []
    are_letters = all(len(name) == 1 for name in frame.columns)
    for place, name in enumerate(frame.columns):
        if _is_beside(name):
            known[_plain(name)] = frame.iloc[:, place].to_numpy()
        elif _plain(name) in _OF_A_DRAW or (_plain(name) == "k" and not are_letters):
            left_out.append(name)
        # A first column without a name is an index of R or pandas.
        elif place > 0 or name != "Unnamed: 0":
            candidates.append(place)
    notes = (f"Left out: {listed(left_out)}; by its name no point.",) if left_out else ()
    return frame.iloc[:, candidates], known, notes


def _names(frame: pd.DataFrame, where: str) -> list[str]:
    """Return names of columns; as pandas reads files, a number follows a name that was there before."""
    names, seen = list[str](), Counter[str]()
    for place, one in enumerate(frame.columns):
        name = visible(str(one).strip()) or f"Unnamed: {place}"
        names.append(f"{name}.{seen[name]}" if name in seen and not _is_beside(name) else name)
        seen[name] += 1
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{where} has two columns '{twice}', expected names of their own: rename one")
    return names


def _plain(name: str) -> str:
    bare = _BETWEEN_WORDS.sub("_", name.strip().removeprefix(".").lower())
    return _ALIASES.get(bare, bare)


def _is_beside(name: str) -> bool:
    """Say whether a column of this name says something of a draw that is read too."""
    return _plain(name) in _BESIDE or name.endswith("__")


def _points(
    frame: pd.DataFrame, where: str, variable: str | None, *, is_stan: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns that are points, and a note where others were left out."""
    names = list(frame.columns)
    indices = _INDEX_OF_STAN if is_stan or variable is not None else _INDEX
    bases: dict[str, dict[str, int]] = {}
    for name in names:
        if match := indices.match(name):
            bases.setdefault(match[1] or match[3], {})[name] = int(match[2] or match[4])
    if variable is not None and not bases:
        raise ValueError(
            f"variable is '{variable}', but no columns of {where} have indices as in z[1]; leave it out"
        )
    if not bases:
        return names, ()
    can_be = {
        base: len(indexed) > 1 and all(map(pd.api.types.is_integer_dtype, frame[[*indexed]].dtypes))
        for base, indexed in bases.items()
    }
    base = labels_among({one: True for one in bases} if len(bases) == 1 else can_be, variable, where)
    chosen = sorted(bases[base], key=lambda name: (bases[base][name], name))
    left_out = [name for name in names if name not in bases[base]]
    note = f"The points are the columns {visible(base)}[...]; left out: {listed(left_out, 5)}."
    return chosen, (note,) if left_out else ()


def labels_among(names: Mapping[str, bool], variable: str | None, where: str) -> str:
    """Return the name that is told, ``assignments``, or the only one that can be draws."""
    if variable is not None and variable not in names:
        raise ValueError(f"{where}: {unknown_name('variable', variable, names)}")
    if variable is not None or "assignments" in names:
        return variable or "assignments"
    candidates = [name for name, can_be in names.items() if can_be]
    if len(candidates) != 1:
        raise ValueError(
            f"{where} holds {listed(names) or 'no variables'}, and {len(candidates)} of them can be draws: "
            "name the labels with variable"
        )
    return candidates[0]


def _refuse_names(frame: pd.DataFrame, where: str) -> None:
    """Refuse tables of statistics, those with a draw in each column, and with a row for each point of one."""
    names = list(frame.columns)
    for pattern, what in (
        (_STATISTIC, "a table of statistics, expected the draws themselves: one row a draw"),
        (_DRAW, "one a draw, expected one row a draw: transpose the table, as columns are points"),
    ):
        some = [name for name in names if pattern.fullmatch(name.lower())]
        if len(some) > 1:
            raise ValueError(f"{where} has the columns {listed(some, 3)}, {what}")
    plain = {*map(_plain, names)}
    if len(names) == 2 and plain & _POINT_OF_A_ROW and plain & _LABEL_OF_A_ROW:
        raise ValueError(
            f"{where} has the columns {listed(names)}, one row for each point of each draw, expected one row "
            "a draw and one column a point: write it wide"
        )


def _refuse_counters(frame: pd.DataFrame, where: str, *, is_header: bool) -> None:
    """Refuse whole numbers that are all different, as those of draws and seeds, where labels repeat."""
    if frame.shape[1] < 3 or len(frame) < _SOME_ROWS:
        return
    values = [column for _, column in frame.items()]
    apart = [at for at, one in enumerate(values) if one.dtype.kind in "iu" and one.is_unique]
    counts = [at for at in apart if values[at].iloc[0] in (0, 1) and (values[at].diff()[1:] == 1).all()]
    others = [one for at, one in enumerate(values) if at not in apart]
    if len(frame) < _MANY_ROWS:
        # A point of few draws may have such labels too, and in a header it has a name.
        apart = counts if not is_header and apart == [0] else []
    elif not all(one.nunique() <= len(frame) / 2 for one in others):
        apart = counts
    if apart and others:
        called = [str(frame.columns[at]) if is_header else f"column {at + 1}" for at in apart]
        raise ValueError(
            f"{where} has another value in each of {len(frame)} draws in {listed(called)}, as the number or "
            "the seed of a draw has, where labels of a point repeat: remove it, or name all columns in a "
            "header, this one 'id' if it is no point"
        )


def _refuse_unequal(beside: Mapping[str, np.ndarray], where: str) -> None:
    """Refuse draws that stand for several, and those of a warm-up."""
    for name in _COUNTS:
        if name in beside and len(pd.unique(beside[name])) > 1:
            raise ValueError(
                f"{where} has a column '{name}', one a draw, expected equally weighted draws: repeat or "
                "resample them as it says, or rename it if it is a point"
            )
    for name in _WARMUP:
        early = sum(str(one).strip().lower() not in _NOT for one in beside.get(name, ()))
        if early:
            raise ValueError(f"{where} has {early} draws of '{name}', expected none: remove these rows")


def _order(beside: Mapping[str, np.ndarray], num_rows: int, where: str) -> tuple[np.ndarray, int]:
    """Sort rows by chain, then by draw within the chain; without these columns the file's order stays."""
    chain = pd.Series(beside.get("chain", np.zeros(num_rows)))
    if num_missing := int((chain.isna() | chain.isin(MISSING)).sum()):
        raise ValueError(f"{where} has {num_missing} rows without a chain, expected a number in each")
    codes, _ = pd.factorize(chain, sort=True)
    sizes = np.bincount(codes)
    if sizes.min() < sizes.max():
        raise ValueError(
            f"{where} has chains of {sizes.min()} to {sizes.max()} draws, expected equal lengths: cut the "
            "longer ones"
        )
    name, keys = next((name for name in _ORDER if name in beside), None), np.zeros(num_rows)
    if name is not None:
        keys = pd.to_numeric(pd.Series(beside[name]), errors="coerce").to_numpy(dtype=np.float64)
        if num_missing := int(np.isnan(keys).sum()):
            raise ValueError(
                f"{where} has {num_missing} rows whose {name} is no number, expected the place of the draw "
                "in its chain"
            )
        if len(sizes) == 1 and len(np.unique(keys)) < num_rows:
            raise ValueError(
                f"{where} has draws of the same {name} and no column chain, expected one draw a number: say "
                "in a column chain which chain each row is of"
            )
    # The last key is the first to sort by; lexsort is stable.
    return np.lexsort((keys, codes)), len(sizes)


def _are_numbers(frame: pd.DataFrame) -> bool:
    """Say whether all columns are numbers, or all are true and false."""
    return all(kind.kind in "iuf" for kind in frame.dtypes) or all(kind.kind == "b" for kind in frame.dtypes)


def _as_text(frame: pd.DataFrame, where: str) -> np.ndarray:
    """Return labels as they are written, where some are names, or numbers begin with zeros."""
    text = frame.astype(str).to_numpy(dtype=object)
    is_missing = (frame.isna() | frame.isin(MISSING)).to_numpy()
    if is_missing.any():
        draw, point = np.argwhere(is_missing)[0]
        word = frame.iloc[draw, point]
        is_word = isinstance(word, str) and word
        hint = f", '{visible(word)}' for one; rename a cluster of that name" if is_word else ""
        raise ValueError(
            f"{where} holds {is_missing.sum()} missing or infinite label(s), the first in draw {draw + 1}, "
            f"point {point + 1}{hint}: every point needs a label in every draw"
        )
    seen: dict[int, str] = {}
    for label in pd.unique(text.ravel()):
        if label.isdecimal() and (other := seen.setdefault(int(label), label)) != label:
            raise ValueError(
                f"{where} holds the labels '{other}' and '{label}', one cluster or two, expected each label "
                "written in one way"
            )
    columns = [set(text[:, place]) for place in range(text.shape[1])]
    times = Counter(label for one in columns for label in one)
    kinds = [kind.kind for kind in frame.dtypes]
    for place, (kind, labels) in enumerate(zip(kinds, columns, strict=True)):
        values = frame.iloc[:, place]
        broken = values[np.trunc(values) != values] if kind == "f" else values[:0]
        # Identifiers and dates share no value with other columns.
        is_apart = len(columns) > 2 and kind not in "iuf" and all(times[label] == 1 for label in labels)
        is_apart = is_apart and (bool({*kinds} & {*"iuf"}) or len(labels) == len(text) > 2)
        if len(broken) or is_apart:
            label = broken.iloc[0] if len(broken) else text[0, place]
            raise ValueError(
                f"{where} holds '{visible(str(label))}' and the like in column "
                f"'{visible(str(frame.columns[place]))}' and nowhere else, as names of draws and means are, "
                "expected labels of clusters: remove the column, or the row"
            )
    return text
