import gc
import os
import zipfile
from pathlib import Path

import arviz
import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from pyroclust import to_arviz
from pyroclust.core import machine
from pyroclust.data.draws.reading import read_draws
from pyroclust.partitions import Draws, canonical, raw_labels
from pyroclust.partitions.raw_labels import canonical_draws


@pytest.fixture
def labels() -> np.ndarray:
    """Labels in no particular order, ``(2, 6, 5)``."""
    return np.random.default_rng(0).integers(-3, 40, size=(2, 6, 5))


def renumbered(labels: np.ndarray) -> np.ndarray:
    return canonical(torch.from_numpy(np.asarray(labels, dtype=np.int64))).numpy()


READ = {
    "no header": ("5,5,2\n1,7,1\n", [[0, 0, 1], [0, 1, 0]], None),
    "a header names the points": ("ann,bob,cy\n5,5,2\n", [[0, 0, 1]], ("ann", "bob", "cy")),
    "whole floats and spaces": ("1.0, 2.00, 1e0\n3.0, 3.0, 3.0\n", [[0, 1, 0], [0, 0, 0]], None),
    "names as labels": ("p,q,r\nred,red,blue\nblue,red,blue\n", [[0, 0, 1], [0, 1, 0]], ("p", "q", "r")),
    # A first line that repeats a name is a draw where the second is none of numbers.
    "names as labels without a header": ("red,red,blue\nblue,red,blue\n", [[0, 0, 1], [0, 1, 0]], None),
    "names that repeat above numbers": ("setosa,setosa,virginica\n1,2,2\n", [[0, 1, 1]], ...),
    "a column of names beside numbers": (
        "p,q,r\n1,1,a\n2,1,1\n2,1,2\n",
        [[0, 0, 1], [0, 1, 1], [0, 1, 0]],
        ...,
    ),
    "names of rows, as R writes them": ('"","V1","V2"\n"1",3,3\n"2",1,4\n', [[0, 0], [0, 1]], ("V1", "V2")),
    "names of rows without quotes": (",V1,V2\n1,3,3\n2,1,4\n", [[0, 0], [0, 1]], ("V1", "V2")),
    "dots in names where Stan did not write": ("setosa,setosa.1,virginica\n1,2,2\n", [[0, 1, 1]], ...),
    "# as a label": ("p,q\n#1,#1\n#1,#2\n", [[0, 0], [0, 1]], ("p", "q")),
    "every point alone in the first draw": ("1,2,4\n1,1,2\n", [[0, 1, 2], [0, 0, 1]], None),
    "two points": ("0,1\n1,1\n", [[0, 1], [0, 0]], None),
}


class TestTables:
    def read(self, tmp_path, text: str, *, name: str = "draws.csv", variable: str | None = None) -> Draws:
        (tmp_path / name).write_text(text)
        return read_draws(tmp_path / name, variable=variable)

    @pytest.mark.parametrize("case", READ)
    def test_labels_and_names(self, tmp_path, case):
        text, assignments, names = READ[case]
        draws = self.read(tmp_path, text)
        assert draws.assignments.tolist() == [assignments]
        assert draws.assignments.dtype == np.int64
        assert names in (..., draws.point_names)
        assert (draws.name, draws.log_joint, draws.log_prob) == ("draws", None, None)

    def test_tabs(self, tmp_path):
        assert self.read(tmp_path, "1\t2\t1\n", name="z.tsv").assignments.tolist() == [[[0, 1, 0]]]
        # The header of R's write.table has one name less than the rows have columns.
        draws = self.read(tmp_path, "V1\tV2\nfirst\t3\t3\nsecond\t1\t4\n", name="r.tsv")
        assert draws.assignments.tolist() == [[[0, 0], [0, 1]]]

    def test_what_pandas_writes(self, tmp_path):
        labels = np.random.default_rng(0).integers(3, size=(1, 6, 5))
        frame = pd.DataFrame(labels[0])
        frame.to_csv(tmp_path / "index.csv")
        frame.to_csv(tmp_path / "plain.csv", index=False)
        np.testing.assert_array_equal(
            read_draws(tmp_path / "index.csv").assignments[0], renumbered(labels[0])
        )
        plain = read_draws(tmp_path / "plain.csv")
        np.testing.assert_array_equal(plain.assignments[0], renumbered(labels[0]))
        assert plain.notes == ("The first line, 0 to 4, was read as names of the columns.",)
        assert plain.point_names is None

    def test_a_draw_with_every_point_alone_is_no_header(self, tmp_path):
        draws = self.read(tmp_path, "1,2,3\n3,1,2\n1,1,2\n")
        assert draws.assignments.shape == (1, 3, 3)
        assert draws.notes == ("The first line, 1 to 3, was read as a draw.",)

    def test_chains_and_order_of_rs_posterior_package(self, tmp_path):
        text = ".chain,.iteration,.draw,a,b,c\n2,2,4,9,8,8\n1,1,1,5,5,5\n2,1,3,1,1,2\n1,2,2,7,8,9\n"
        draws = self.read(tmp_path, text)
        assert draws.assignments.tolist() == [[[0, 0, 0], [0, 1, 2]], [[0, 0, 1], [0, 1, 1]]]
        assert draws.point_names == ("a", "b", "c")

    def test_chains_without_order_keep_the_order_of_the_file(self, tmp_path):
        draws = self.read(tmp_path, "Chain,a,b\n2,1,1\n1,1,2\n2,1,3\n1,1,1\n")
        assert draws.assignments.tolist() == [[[0, 1], [0, 0]], [[0, 0], [0, 1]]]
        rows = "".join(f"{chain},{chain % 2},0\n" for chain in (10, 2, 1))
        assert self.read(tmp_path, "chain,a,b\n" + rows).assignments[:, 0, 1].tolist() == [1, 0, 0]

    def test_log_densities_follow_their_draws(self, tmp_path):
        text = "chain,a,b,log_joint,log_prob\n2,0,0,-1,-5\n1,0,1,-2,-6\n1,0,0,-3,-7\n2,0,1,-4,-8\n"
        draws = self.read(tmp_path, text)
        assert draws.log_joint.tolist() == [[-2.0, -3.0], [-1.0, -4.0]]
        assert draws.log_prob.tolist() == [[-6.0, -7.0], [-5.0, -8.0]]
        assert draws.log_joint.dtype == np.float64
        assert draws.point_names == ("a", "b")

    def test_cmdstan(self, tmp_path):
        text = (
            "# stan_version_major = 2\nlp__,accept_stat__,mu.1,mu.2,z.1,z.2,z.10\n# Adaptation terminated\n"
            "-1,0.9,1.5,2.5,1,2,1\n-2,0.8,1.5,2.5,1,2,2\n# Elapsed Time\n"
        )
        draws = self.read(tmp_path, text)
        assert draws.assignments.tolist() == [[[0, 1, 0], [0, 1, 1]]]
        assert draws.log_joint.tolist() == [[-1.0, -2.0]]
        assert draws.point_names == ("z.1", "z.2", "z.10")
        assert draws.notes == (
            "Lines that begin with # were left out.",
            "The points are the columns z[...]; left out: mu.1, mu.2.",
        )

    def test_indexed_columns_are_put_in_order_and_the_rest_left_out(self, tmp_path):
        text = "z[10],z[2],z[1],K,alpha\n1,2,2,2,0.5\n"
        draws = self.read(tmp_path, text)
        assert draws.point_names == ("z[1]", "z[2]", "z[10]")
        assert draws.assignments.tolist() == [[[0, 0, 1]]]
        assert ["K" in draws.notes[0], "alpha" in draws.notes[1]] == [True, True]

    def test_variable_chooses_among_indexed_columns(self, tmp_path):
        text = "z[1],z[2],y[1],y[2]\n1,2,3,3\n"
        assert self.read(tmp_path, text, variable="y").assignments.tolist() == [[[0, 0]]]
        assert self.read(tmp_path, text, variable="z").assignments.tolist() == [[[0, 1]]]
        assert self.read(tmp_path, "z.1,z.2,k\n1,2,3\n", variable="z").assignments.shape == (1, 1, 2)
        assert self.read(tmp_path, "y[1],y[2],assignments[1],assignments[2]\n1,1,1,2\n").point_names[0] == (
            "assignments[1]"
        )
        for text, variable, message in (
            ("z[1],z[2]\n1,2\n", "zz", "unknown variable 'zz', did you mean 'z'"),
            ("a,b\n1,2\n", "z", r"no columns of .* have indices as in z\[1\]"),
            ("1,2\n1,2\n", "z", "has no names of columns"),
        ):
            with pytest.raises(ValueError, match=message):
                self.read(tmp_path, text, variable=variable)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty"),
            ("\n\n", "is empty"),
            ("a,b\n", "holds a header and no draws"),
            ("1\n2\n", "has draws of 1 point, expected at least 2"),
            ("a\n2\n", "has draws of 1 point"),
            ("chain,log_joint\n1,-2\n", "has no column that could be a point"),
            ("1,2\n1,2,3\n", "line 2 has 3 cells, expected 2 as in line 1"),
            ("1,2\n1\n", "line 2 has 1 cell, expected 2 as in line 1"),
            ("a,b\n1,\n2,3\n", "the first in draw 1, point 2"),
            ("1,\n2,3\n", "the first in draw 1, point 2"),
            ("a,b\nu,\nv,u\n", "the first in draw 1, point 2"),
            ("1,inf\n2,3\n", "the first in draw 1, point 2"),
            ("1,2\n1.5,2\n", "holds 1.5 in draw 2, point 1, expected whole numbers"),
            ("1,2\n1e17,2\n", "beyond 2\\^53"),
            ("chain,a,b\n1,1,1\n1,1,2\n2,1,1\n", "chains of 1 to 2 draws, expected equal lengths"),
            ("chain,a,b\n1,1,1\n,1,2\n", "1 rows without a chain"),
            ("a,b,log_joint\n1,2,u\n", "log_joint of type .* expected numbers"),
            ("z[1],z[2],y[1],y[2]\n1,2,3,3\n", "holds z, y, and 2 of them can be draws"),
            ("z[1],z[2],y[1],y[2]\n.1,.2,.3,.3\n", "and 0 of them can be draws"),
            ("a,b\n1,2,3,4\n1,2,3,4\n", "line 2 has 4 cells, expected 2 as in line 1"),
            ("\x00\x01\x02", "is not a readable .csv file: it holds bytes that are no text"),
        ],
    )
    def test_bad_tables_are_refused_in_one_sentence(self, tmp_path, text, message):
        with pytest.raises(ValueError, match=message) as error:
            self.read(tmp_path, text)
        assert "\n" not in str(error.value)
        assert "draws.csv" in str(error.value)


class TestArrays:
    @pytest.mark.parametrize("kind", [np.int64, np.int8, np.float64, np.float32, str])
    def test_npy_of_any_kind(self, tmp_path, labels, kind):
        np.save(tmp_path / "z.npy", labels.astype(kind))
        draws = read_draws(tmp_path / "z.npy")
        np.testing.assert_array_equal(draws.assignments, renumbered(labels))
        assert (draws.name, draws.assignments.dtype) == ("z", np.int64)
        with pytest.raises(ValueError, match=r"the one array of .* has no name"):
            read_draws(tmp_path / "z.npy", variable="z")
        with pytest.raises(ValueError, match=r"only .nc files have groups"):
            read_draws(tmp_path / "z.npy", group="guide")

    def test_npz(self, tmp_path, labels):
        np.savez(
            tmp_path / "z.npz",
            assignments=labels,
            other=labels,
            log_joint=np.arange(12.0).reshape(2, 6),
            log_prob=np.zeros((2, 6)),
            point_names=np.array(list("abcde")),
        )
        draws = read_draws(tmp_path / "z.npz")
        np.testing.assert_array_equal(draws.assignments, renumbered(labels))
        assert draws.log_joint[1].tolist() == [6, 7, 8, 9, 10, 11]
        assert draws.log_prob.shape == (2, 6)
        assert draws.point_names == ("a", "b", "c", "d", "e")

    def test_npz_with_one_array_that_can_be_draws(self, tmp_path, labels):
        np.savez(tmp_path / "z.npz", labels=labels[0], log_joint=np.zeros((1, 6)), weights=np.ones(6))
        assert read_draws(tmp_path / "z.npz").assignments.shape == (1, 6, 5)
        np.savez_compressed(tmp_path / "two.npz", one=labels[0], two=labels[1])
        found = read_draws(tmp_path / "two.npz", variable="two")
        np.testing.assert_array_equal(found.assignments[0], renumbered(labels[1]))
        with pytest.raises(ValueError, match="holds one, two, and 2 of them can be draws"):
            read_draws(tmp_path / "two.npz")
        with pytest.raises(ValueError, match="unknown variable 'tow', did you mean 'two'"):
            read_draws(tmp_path / "two.npz", variable="tow")

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros(3, int), r"has shape \(3,\), expected \(draws, points\)"),
            (np.zeros((1, 1, 1, 3), int), "has shape"),
            (np.zeros((0, 3), int), "is empty"),
            (np.zeros((3, 1), int), "draws of 1 point"),
            (
                np.array([[0.0, np.nan]]),
                r"holds 1 missing or infinite label\(s\), the first in draw 1, point 2",
            ),
            (np.array([[0.0, 0.25]]), "holds 0.25 in draw 1, point 2"),
            (np.zeros((2, 3), complex), "holds values of type complex128"),
            (np.zeros((2, 3), "datetime64[s]"), "holds values of type datetime64"),
        ],
    )
    def test_bad_arrays_are_refused(self, tmp_path, array, message):
        np.save(tmp_path / "z.npy", array)
        with pytest.raises(ValueError, match=message):
            read_draws(tmp_path / "z.npy")

    def test_densities_of_another_length_are_refused(self, tmp_path, labels):
        np.savez(tmp_path / "z.npz", assignments=labels, log_joint=np.zeros(5))
        with pytest.raises(ValueError, match="has 5 values of log_joint, expected 12, one a draw"):
            read_draws(tmp_path / "z.npz")
        np.savez(tmp_path / "n.npz", assignments=labels, point_names=np.array(["a", "b"]))
        with pytest.raises(ValueError, match=r"point_names of shape \(2,\), expected \(5,\)"):
            read_draws(tmp_path / "n.npz")

    def test_damaged_files_are_refused(self, tmp_path, labels):
        np.save(tmp_path / "z.npy", labels)
        np.savez(tmp_path / "z.npz", z=labels)
        np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
        with zipfile.ZipFile(tmp_path / "entry.npz", "w") as file:
            file.writestr("assignments.npy", b"no array at all")
        for name in ("z.npy", "z.npz"):
            content = (tmp_path / name).read_bytes()
            (tmp_path / f"cut_{name}").write_bytes(content[: len(content) // 2])
            (tmp_path / f"none_{name}").write_bytes(b"")
        (tmp_path / "renamed.npy").write_bytes((tmp_path / "z.npz").read_bytes())
        (tmp_path / "renamed.npz").write_bytes((tmp_path / "z.npy").read_bytes())
        cut = ("cut_z.npy", "cut_z.npz", "none_z.npy", "none_z.npz")
        for name in (*cut, "objects.npy", "renamed.npz", "entry.npz"):
            with pytest.raises(ValueError, match="is not a readable"):
                read_draws(tmp_path / name)
        with pytest.raises(ValueError, match=r"holds several arrays, as a .npz file does"):
            read_draws(tmp_path / "renamed.npy")


class TestNetCDF:
    @pytest.fixture
    def path(self, tmp_path, labels):
        """Return a file that ArviZ wrote, of a sampler that calls its labels z."""
        rng = np.random.default_rng(1)
        data = arviz.from_dict(
            posterior={"z": labels, "mu": rng.normal(size=(2, 6, 3)), "k": np.ones((2, 6), int)},
            sample_stats={"lp": np.arange(12.0).reshape(2, 6)},
            coords={"place": list("vwxyz")},
            dims={"z": ["place"]},
        )
        path = tmp_path / "fit.nc"
        data.to_netcdf(str(path), engine="h5netcdf")
        return path

    def test_the_only_whole_variable_with_a_third_dimension(self, path, labels):
        draws = read_draws(path)
        np.testing.assert_array_equal(draws.assignments, renumbered(labels))
        assert draws.point_names == ("v", "w", "x", "y", "z")
        assert draws.log_joint[1, 0] == 6.0
        assert draws.log_prob is None
        assert draws.name == "fit"

    @pytest.mark.parametrize(
        ("name", "dims", "change"),
        [
            ("z", ("p", "draw", "chain"), lambda labels: labels.transpose(2, 1, 0)),
            ("assignments", ("chain", "draw", "p"), lambda labels: 1.0 * labels),
            ("assignments", ("draw", "p"), lambda labels: labels.reshape(12, 5)),
        ],
        ids=["any order", "floats, before others", "one chain without a dimension"],
    )
    def test_other_forms(self, tmp_path, labels, name, dims, change):
        dataset = xr.Dataset({name: (dims, change(labels))}, coords={"p": np.arange(5)})
        if name == "assignments":
            dataset["other"] = dataset[name].astype(int) + 1
        groups = {"posterior": dataset}
        if "chain" in dims:
            groups["sample_stats"] = xr.Dataset({"lp": (("chain", "draw"), np.arange(12.0).reshape(2, 6))})
        xr.DataTree.from_dict(groups).to_netcdf(tmp_path / "z.nc", engine="h5netcdf")
        draws = read_draws(tmp_path / "z.nc")
        np.testing.assert_array_equal(draws.flat, renumbered(labels).reshape(12, 5))
        assert draws.point_names is None
        assert "chain" not in dims or draws.log_joint[1, 0] == 6.0

    def test_groups(self, tmp_path, labels):
        for name, place in (("prior", 0), ("guide", 1)):
            dataset = xr.Dataset({"z": (("draw", "p"), labels[place])})
            dataset["assignments"] = dataset.z
            dataset.to_netcdf(tmp_path / "z.nc", group=name, mode="a", engine="h5netcdf")
        draws = read_draws(tmp_path / "z.nc", group="guide")
        np.testing.assert_array_equal(draws.assignments[0], renumbered(labels[1]))
        assert draws.name == "z (guide)"
        with pytest.raises(ValueError, match="has the groups prior, guide, none of them 'posterior'"):
            read_draws(tmp_path / "z.nc")
        with pytest.raises(ValueError, match="unknown group 'guid', did you mean 'guide'"):
            read_draws(tmp_path / "z.nc", group="guid")

    def test_errors_name_what_to_do(self, path, tmp_path, labels):
        with pytest.raises(ValueError, match="unknown variable 'zz', did you mean 'z'"):
            read_draws(path, variable="zz")
        with pytest.raises(ValueError, match="expected whole numbers"):
            read_draws(path, variable="mu")
        with pytest.raises(ValueError, match=r"'k' has the dimensions \(chain, draw\), expected one more"):
            read_draws(path, variable="k")
        two = {name: (("chain", "draw", "p"), labels) for name in ("y", "z")}
        xr.Dataset(two).to_netcdf(tmp_path / "two.nc", engine="h5netcdf")
        with pytest.raises(ValueError, match="holds y, z, and 2 of them can be draws"):
            read_draws(tmp_path / "two.nc")

    def test_damaged_files_are_refused(self, path, tmp_path):
        for name, content in (
            ("cut", path.read_bytes()[:9000]),
            ("none", b""),
            ("text", b"not a file of this kind"),
        ):
            (tmp_path / f"{name}.nc").write_bytes(content)
            with pytest.raises(ValueError, match=r"is not a readable \.nc file") as error:
                read_draws(tmp_path / f"{name}.nc")
            assert "\n" not in str(error.value)

    def test_what_we_write_comes_back(self, tmp_path, labels):
        draws = Draws(
            name="mine",
            assignments=renumbered(labels),
            log_joint=np.arange(12.0).reshape(2, 6),
            log_prob=np.zeros((2, 6)),
            parameters={"rate": np.ones((2, 6)), "scale": np.ones((2, 6, 3))},
            point_names=tuple("abcde"),
        )
        to_arviz(draws).to_netcdf(str(tmp_path / "mine.nc"), engine="h5netcdf")
        again = read_draws(tmp_path / "mine.nc")
        np.testing.assert_array_equal(again.assignments, draws.assignments)
        np.testing.assert_array_equal(again.log_joint, draws.log_joint)
        np.testing.assert_array_equal(again.log_prob, draws.log_prob)
        assert again.point_names == draws.point_names


class TestAnyFile:
    def test_missing(self, tmp_path):
        with pytest.raises(ValueError, match=r"there is no file '.*absent.csv'; check the path"):
            read_draws(tmp_path / "absent.csv")
        (tmp_path / "folder.csv").mkdir()
        with pytest.raises(ValueError, match="there is no file"):
            read_draws(tmp_path / "folder.csv")

    def test_suffix(self, tmp_path):
        with pytest.raises(
            ValueError, match=r"its suffix is '.rds', expected one of .csv, .tsv, .npy, .npz, .nc"
        ):
            read_draws(tmp_path / "draws.rds")
        np.save(tmp_path / "z.npy", np.zeros((2, 3), int))
        (tmp_path / "z.npy").rename(tmp_path / "Z.NPY")
        assert read_draws(str(tmp_path / "Z.NPY")).name == "Z"

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_permission(self, tmp_path):
        (tmp_path / "z.csv").write_text("1,2\n")
        (tmp_path / "z.csv").chmod(0)
        with pytest.raises(ValueError, match="permission denied"):
            read_draws(tmp_path / "z.csv")

    @pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz", ".nc"])
    def test_too_large_for_the_machine(self, tmp_path, monkeypatch, suffix):
        path = tmp_path / f"z{suffix}"
        labels = np.zeros((20, 30), int)
        write(labels, path)
        assert read_draws(path).assignments.shape == (1, 20, 30)
        monkeypatch.setattr(machine, "free_memory", lambda: 10_000)
        with pytest.raises(ValueError, match=r"this machine has .* GiB; thin the draws"):
            read_draws(path)


class TestWhatCannotBeLabels:
    """Tables and arrays that newcomers give instead of draws."""

    WHOLE = np.random.default_rng(0).integers(100, 30_000, size=(200, 4))
    FLOATS = np.random.default_rng(0).standard_normal((20, 3))

    @pytest.mark.parametrize(
        "names",
        [
            *("mean,sd,r_hat", ",mean,sd,r_hat", "mean,hdi_3%,hdi_97%", "q5,q95", "ess_bulk,ess_tail"),
            "Mean,MCSE,StdDev,5%,50%,95%,N_Eff,R_hat",
        ],
    )
    def test_tables_of_statistics(self, tmp_path, names):
        (tmp_path / "s.csv").write_text(f"{names}\n{','.join('1' * len(names.split(',')))}\n")
        with pytest.raises(ValueError, match="a table of statistics"):
            read_draws(tmp_path / "s.csv")
        # One point may be called like a statistic.
        (tmp_path / "z.csv").write_text("mean,max,min\n1,1,2\n")
        assert read_draws(tmp_path / "z.csv").point_names == ("mean", "max", "min")

    def test_measurements_beside_names(self, tmp_path):
        frame = pd.DataFrame({"width": [5.1, 4.9], "height": [3, 4], "kind": ["a", "b"]})
        frame.to_csv(tmp_path / "data.csv", index=False)
        with pytest.raises(ValueError, match=r"holds '5\.1' and the like in column 'width'"):
            read_draws(tmp_path / "data.csv")

    @pytest.mark.parametrize(
        ("suffix", "kind"), [(".csv", np.int64), (".npy", np.float64), (".npz", str), (".nc", np.int64)]
    )
    def test_whole_measurements(self, tmp_path, suffix, kind):
        write(self.WHOLE if suffix == ".csv" else self.WHOLE.astype(kind), tmp_path / f"z{suffix}")
        with pytest.raises(ValueError, match="different values for 4 points, and hardly any two of a draw"):
            read_draws(tmp_path / f"z{suffix}")

    @pytest.mark.parametrize(("suffix", "kind"), [(".npy", np.float32), (".npz", str), (".nc", np.float64)])
    def test_floats(self, tmp_path, suffix, kind):
        write(self.FLOATS.astype(kind), tmp_path / f"z{suffix}")
        with pytest.raises(ValueError, match=r"holds .*\..* in draw 1, point 1, expected whole numbers"):
            read_draws(tmp_path / f"z{suffix}")

    @pytest.mark.parametrize(
        "labels",
        [
            np.arange(5) * np.ones((7, 1), dtype=int),
            np.random.default_rng(0).permuted(np.tile(np.arange(5), (50, 1)), axis=1),
            10**9 + np.arange(1200).reshape(200, 6) // 2 * 2,
            np.array([["1.2", "1.3", "x"], ["1.2", "1.2", "x"]]),
            np.random.default_rng(0).integers(-5, 40, size=(400, 5)),
        ],
        ids=["all alone", "all alone in any order", "labels never used twice", "names", "gaps"],
    )
    def test_odd_labels_are_labels(self, tmp_path, labels):
        np.save(tmp_path / "z.npy", labels)
        assert read_draws(tmp_path / "z.npy").assignments.shape == (1, *labels.shape)


def test_labels_are_renumbered_in_blocks(monkeypatch):
    labels = np.random.default_rng(1).integers(9, size=(3, 11, 13))
    monkeypatch.setattr(raw_labels, "_BLOCK", 7)
    np.testing.assert_array_equal(canonical_draws(labels, where="z"), renumbered(labels))


def test_canonical_labels_stay_as_they_are(labels):
    once = canonical_draws(labels, where="z")
    np.testing.assert_array_equal(canonical_draws(once, where="z"), once)
    np.testing.assert_array_equal(canonical_draws(labels + 10**12, where="z"), once)


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz", ".nc"])
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are listed there")
def test_reading_leaves_no_file_open(tmp_path, labels, suffix):
    path = tmp_path / f"z{suffix}"
    write(labels[0], path)
    read_draws(path)
    # An open file says so when it is collected, and warnings are errors.
    gc.collect()
    descriptors = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    assert str(path) not in [os.readlink(one) for one in descriptors if os.path.islink(one)]


def write(labels: np.ndarray, path: Path) -> None:
    match path.suffix:
        case ".csv":
            np.savetxt(path, labels, fmt="%d", delimiter=",")
        case ".npy":
            np.save(path, labels)
        case ".npz":
            np.savez(path, labels)
        case _:
            dataset = xr.Dataset({"assignments": (("draw", "p"), labels)})
            dataset.to_netcdf(path, engine="h5netcdf")
