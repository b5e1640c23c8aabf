"""Commands that cannot be done, as they are typed: one sentence, exit 2, nothing printed, nothing written."""

import io
from functools import cache

import numpy as np
import pandas as pd
from faults.cases import Case, command, refuses
from PIL import Image
from training_cases import recipe

from pyroclust.results.files import prepare_folder


def _npy(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def _png(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(values.astype(np.uint8)).save(file, format="PNG")
    return file.getvalue()


@cache
def _files() -> dict[str, str | bytes]:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 0.5, (8, 2)), rng.normal(2, 0.5, (8, 2))])
    pairs = pd.DataFrame(points, columns=["a", "b"]).assign(known=["x", "x", *[""] * 13, "y"], nothing="")
    clinic = pd.DataFrame(
        {"age": [*rng.normal(40, 9, 28), None, None], "stage": ["early", "mid", "late"] * 10}
    )
    images = rng.integers(0, 255, (6, 8, 8))
    return {
        "text.csv": "a,kind\n1,1.5\n2,x\n3,2.5\n",
        "one.csv": "a\n1.5\n",
        "constant.csv": "a\n2\n2\n",
        "points.csv": "a,b,kind\n1.5,2.5,x\n2.5,3.5,y\n9.5,8.5,x\n9.0,8.0,y\n",
        "file": "no folder",
        "empty/notes.txt": "no guide",
        "none/notes.txt": "a folder is reached by its path",
        "pickled.npy": _npy(np.array([{}, 1], dtype=object)),
        "waves.npy": _npy(rng.normal(size=(6, 3, 5))),
        "colours.npy": _npy(rng.random((6, 4, 4, 3))),
        # As images after scaling: of the size of a guide of images, but no pixels.
        "unscaled.npy": _npy(255 * rng.random((6, 8, 8))),
        **{f"scans/{place % 2}/{place}.png": _png(one) for place, one in enumerate(images)},
        "clinic.csv": clinic.to_csv(index=False),
        "pairs.csv": pairs.to_csv(index=False),
        "must.csv": "first,second\n1,9\n",
        "cannot.csv": "2,3\n",
        "clash.csv": "9,1\n",
        "far.csv": "1,17\n",
        "wide.csv": "1,2,3\n",
        "across.csv": "1,16\n",
        "broken.nc": "not a file",
        "good.npy": _npy(rng.integers(3, size=(2, 20, 6))),
        "short.npy": _npy(rng.integers(3, size=(2, 20, 5))),
        "tiny.toml": recipe(3),
        "lite.toml": recipe(3).replace("[light]", "[lite]"),
        "still.toml": recipe(0),
    }


SOURCES = {
    "compare": "Missing argument",
    "compare iris --sede 1": "--sede",
    "compare iriss": "did you mean 'iris'?",
    "compare nosuch.csv": "there is no file 'nosuch.csv'; check the path",
    "compare points.ods": "its suffix is '.ods', expected one of .csv",
    "compare pickled.npy": "is not a readable .npy file",
    "compare text.csv": "--label kind",
    "compare one.csv": "has 1 row",
    "compare constant.csv": "column 'a' is constant",
    "compare iris --columns petal_lenght_cm": "did you mean 'petal_length_cm'",
    "compare iris --columns petal_length_cm,species": "column 'species' is the label and cannot be clustered",
    "compare iris --label specie": "unknown column 'specie', did you mean 'species'?",
    "compare iris --pca 0": "--pca is 0, expected 1 to 2",
    "compare points.csv --columns a --columns b": "--columns is given 2 times",
    "compare points.csv --columns a,,b": "expected names between commas",
    "compare points.csv --decimal ;": "expected '.' or ','",
    "compare iris --decimal ,": "leave it out",
    "diagnose z.npy --delimiter tab": "no file here is .csv or .tsv",
    "compare \x1b[2Jt.csv": r"'\x1b[2Jt.csv'",
}
NUMBERS = {
    "compare galaxies --draws 1000000000": "--draws is 1000000000: draws of 82 points take",
    "compare iris --seed -1": "--seed",
    "compare iris --concentration nan": "concentration is nan, expected a positive number",
    "compare iris --expected-clusters 110": "expected at most 103.904: prior 'mfm' reaches",
    **{f"compare iris --tolerance {one}": "tolerance is" for one in ("0", "-0.1", "1.5", "nan")},
    "check nobody": "unknown guide 'nobody'",
    "check filter-nig1d --points many": "--points is 'many', expected whole numbers",
    "check filter-nig1d --points 0,20": "sampled_points is",
}
MODELS_AND_GUIDES = {
    "compare iris --family gauss": "unknown family 'gauss'. Known: diagonal, nig",
    "recipe iris --prior crb": "did you mean 'crp'?",
    "compare iris --guide ncp-niw4d --prior py": "prior given beside a guide, which has a model of its own",
    "compare iris --guide filter-nig1d": "guide 'filter-nig1d' takes 1",
    "compare galaxies --guide ./empty": "card.json",
    "compare galaxies --guide ./none": "card.json",
    "compare galaxies --guide none --condition scale=1": "conditions are scale, guide 'none' takes none",
    "compare galaxies --condition concentration": "expected NAME=VALUE such as concentration=0.7",
    "compare points.csv --condition c=1 --condition c=2": "tells 'c' twice",
    "compare galaxies --kernel gibs": "unknown kernel 'gibs', did you mean 'gibbs'?",
    "compare galaxies --guide filter-nig1d --out file/results": "cannot write into the folder",
}
GRAPHS_AND_IMAGES = {
    "compare karate --family niw": "whose blocks have rates of edges: leave it out",
    "compare karate --guide ncp-niw2d": "takes points of shape (2,)",
    "compare karate --pca 2": "pca is 2, but karate has nodes of a graph",
    "compare karate --within -1 2": "within[0] is -1",
    "compare karate --edges": "edges is true, but source is no file",
    "compare iris --within 1 2": "within given for rows of columns, expected a graph: leave it out",
    "compare scans --image-size 12": "there is no guide on the shelf for images of 12 x 12 pixels",
    "compare scans --image-size 2": "size is 2, expected",
    "compare scans --pca 2": "pca is 2, but scans has images of 8 x 8 pixels",
    "compare scans --guide none": "no MCMC: leave guide='none'",
    "compare scans --family niw": "no model by name",
    "compare iris --guide ncp-glyphs8": "has rows of columns and guide 'ncp-glyphs8' takes points of",
    "compare empty": "has no images",
    "compare waves.npy": "no guide on the shelf for waveforms of 3 channels and 5 samples (acp-spikes",
    "compare colours.npy": "has shape (6, 4, 4, 3), expected (N, D), images (N, H, W)",
    "compare unscaled.npy": "if these are images divide them by their largest number",
}
KINDS = {
    "--kinds stage": "--kinds is 'stage', expected a kind for each of some columns",
    "--pca 2": "has columns that are no numbers, and principal components need numbers",
    "--family niw --columns age,stage": "which integrate out where columns are independent",
    "--family student-t": "'diagonal', 'nig' or 'niw' beside columns of other kinds",
    "--guide ncp-nig1d --columns age": "holds missing values",
    "--guide ncp-nig1d --columns age --kinds age=number": "which guide 'ncp-nig1d' cannot",
}
CONSTRAINTS = {
    "--must-link must.csv --cannot-link clash.csv": "the pair of rows (9, 1), and these rows must be",
    "--cannot-link far.csv": "names the row '17', expected rows from 1 to 16",
    "--must-link wide.csv": "has 3 columns, expected two",
    "--must-link must.npy": "its suffix is '.npy'",
    "--partial-labels nothing": "column 'nothing' holds no label",
    "--partial-labels a": "has the partial labels and cannot be clustered too",
    "--partial-labels known --label known": "is named by both label and partial_labels",
    "--partial-labels known --must-link across.csv": "different labels for the rows 1 and 16",
    "--must-link must.csv --family student-t": "take --family niw or nig",
    "--must-link must.csv --raw --guide dac-mog": "can only be simulated",
    "--must-link must.csv --raw --guide ccp-gaussian2d": "leave --guide out",
    "--must-link must.csv --kernel auxiliary": "cannot keep to them",
    "--clusters 2:6": "--clusters is '2:6', expected a number of at least 1, as 3, or the fewest",
    "--clusters 1 --cannot-link cannot.csv": "at most 1, and cannot_link or partial_labels has 2 rows",
}
OTHERS = {
    "cluster pairs.csv --columns a,b --clusters x": "--clusters is 'x', expected a number",
    "forest pairs.csv --columns a,b --clusters 2 --cannot-link far.csv": "names the row '17', expected rows",
    "forest pairs.csv --columns a,b": "expected one of num_clusters (--clusters)",
    "forest pairs.csv --columns a,b --clusters 2 --prior crp": "are both given",
    "forest pairs.csv --columns a,b --clusters 99": "--clusters is 99, expected",
    "forest karate --clusters 2": "expected rows of columns",
    "compare karate --must-link must.csv": "karate has nodes of a graph",
    "train none.toml --out t": "there is no recipe",
    "train lite.toml --out t": "unknown key 'lite', did you mean 'light'",
    "train still.toml --out t": "steps is 0, expected at least 1",
    "train tiny.toml --out t --precision 8": "precision is '8', expected one of 32-true, bf16-mixed",
}
DRAWS = {
    "diagnose nosuch.csv": "there is no file 'nosuch.csv'; check the path",
    "diagnose draws.rds": "its suffix is '.rds', expected one of .csv",
    "diagnose broken.nc": "not a readable .nc file",
    "diagnose good.npy short.npy": "expected the same points",
    "diagnose good.npy --other-group guide": "--other-group is 'guide', but there is no second file",
    "diagnose good.npy --data iris": "expected one row a point",
    "diagnose good.npy --data iris --label specis": "specis",
    "diagnose good.npy --columns x,y": "columns is ['x', 'y'], but there is no table",
}
WITHOUT_A_NAME = {
    "compare galaxies --out": "is empty",
    "check filter-nig1d --out": "is empty",
    "check filter-nig1d --save": "is empty",
    "diagnose draws.npy --out": "is empty",
    "train ncp-overlap2d --out": "is empty",
}


def _typed(line: str, words: str, *more: str) -> Case:
    named = {word.split("/")[0] for word in line.replace("./", "").split()}
    files = {name: content for name, content in _files().items() if name.split("/")[0] in named}
    name = line + " ''" * len(more)
    return command("commands", name, [*line.split(" "), *more], files=files, words=words)


CASES = [
    *(
        _typed(line, words)
        for table in (SOURCES, NUMBERS, MODELS_AND_GUIDES, GRAPHS_AND_IMAGES, OTHERS, DRAWS)
        for line, words in table.items()
    ),
    *(_typed(f"compare clinic.csv {options}", words) for options, words in KINDS.items()),
    *(_typed(f"compare pairs.csv --columns a,b {options}", words) for options, words in CONSTRAINTS.items()),
    *(_typed(line, words, "") for line, words in WITHOUT_A_NAME.items()),
    refuses("commands", "a folder for results with an empty name", lambda: prepare_folder(""), "empty"),
]
