"""Draws in text files: words for labels, columns that are no points, files put one after the other."""

from pathlib import Path
from typing import Any

from faults.cases import Case, gives, refuses

from pyroclust import read_draws

FAMILY = "draws files"


def read(text: str, **told: Any) -> Any:
    Path("z.csv").write_text(text)
    return read_draws("z.csv", **told)


def drawn(name: str, text: str, value: list[list[list[int]]]) -> Case:
    return gives(FAMILY, name, lambda: read(text).assignments.tolist(), value)


def no(name: str, text: str, words: str) -> Case:
    return refuses(FAMILY, name, lambda: read(text), words)


LABELS = [
    no(
        "NA among names of clusters", "a,b,c\nNA,x,x\nx,NA,y\n", "'NA' for one; rename a cluster of that name"
    ),
    no("None among names of clusters", "a,b,c\nNone,x,x\nx,None,y\n", "'None' for one"),
    no("an empty cell", "a,b,c\n,1,1\n1,1,2\n", "1 missing or infinite label"),
    no("labels 01 and 1", "a,b,c\n01,1,2\n1,1,2\n", "'01' and '1', one cluster or two"),
    no("labels 01 and 1 beside names", "a,b,c\n01,1,x\n1,x,1\n", "'01' and '1', one cluster or two"),
    drawn("labels 01 to 02, all alike", "a,b,c\n01,01,02\n01,02,02\n", [[[0, 0, 1], [0, 1, 1]]]),
    drawn("TRUE in columns of two kinds", "a,b,c\nTRUE,TRUE,x\nFALSE,x,x\n", [[[0, 0, 1], [0, 1, 1]]]),
    drawn("numbers beside names", "a,b,c\n1,1,x\n2,x,x\n", [[[0, 0, 1], [0, 1, 1]]]),
    drawn("labels that differ in capitals", "a,b,c\nA,a,A\na,a,A\n", [[[0, 1, 0], [0, 0, 1]]]),
    drawn("gaps, labels from 1, below zero", "a,b,c\n7,7,100\n-1,1,1\n", [[[0, 0, 1], [0, 1, 1]]]),
    drawn("whole labels with decimals", "a,b,c\n1.0,1.0,2.0\n2.0,1,1\n", [[[0, 0, 1], [0, 1, 1]]]),
]

COLUMNS = [
    no("names of draws in a column", "d,p,q,r\nd1,0,0,1\nd2,0,1,1\n", "'d1' and the like in column 'd'"),
    no("one row a point, with its name", "point,u,v\np1,0,0\np2,0,1\n", "column 'point' and nowhere else"),
    no("how often a draw came", "count,a,b\n4,0,0\n6,0,1\n", "expected equally weighted draws"),
    no("the probability of a draw", "prob,a,b\n.4,0,0\n.6,0,1\n", "expected equally weighted draws"),
    no("draws of the warm-up", "warmup,a,b\nTRUE,0,0\nFALSE,0,1\n", "1 draws of 'warmup', expected none"),
    no("one row for each point of a draw", "draw,point,label\n1,1,0\n1,2,0\n", "write it wide"),
    no("columns of chains and draws", "chain1_draw1,chain1_draw2\n0,0\n0,1\n", "transpose the table"),
    drawn(
        "chains by number", "chain.no,a,b\n1,0,0\n1,0,1\n2,0,1\n2,1,1\n", [[[0, 0], [0, 1]], [[0, 1], [0, 0]]]
    ),
    gives(
        FAMILY,
        "times and dates of draws",
        lambda: read("date,Elapsed,a,b\n2020-01-01,5,0,0\n2020-01-02,6,0,1\n").notes,
        ("Left out: date, Elapsed; by its name no point.",),
    ),
]

FILES = [
    no(
        "files put one after the other",
        "a,b\n0,0\na,b\n0,1\n",
        "names of its columns again in place of draw 2",
    ),
    no("a last row of means", "a,b\n0,0\n0,1\nmean,0.5\n", "holds '0.5' and the like in column 'b'"),
]

CASES = [*LABELS, *COLUMNS, *FILES]
