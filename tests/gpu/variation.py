# SPDX-License-Identifier: MIT
"""How far times of the same program lie apart: the arithmetic, and the table of all visits whose samples are kept."""
import itertools
import json
import pathlib
import statistics

KEPT = pathlib.Path(__file__).resolve().parent / "samples"
COLUMNS = ("kernel", "GPU", "visits", "runs", "time", "CV within a visit", "CV between visits", "plain mean: CV within", "between",
           "half an interval", "intervals that hold the visit's median, of 95 %", "slower copy is slower by",
           "wrong order, neighbors", "wrong order, all pairs", "resubmitted: median", "95th percentile")
# What is to be reached, and the only figures that were published: one card, remote against local.
GOALS = [("goal", *[""] * 11, "1 %", "1 %", "0.3 %", "1 %"), ("published elsewhere", *[""] * 13, "0.425 %", "3.136 %")]


def spread(values):
    """Coefficient of variation, per cent."""
    return 100 * statistics.stdev(values) / statistics.mean(values)


def wrong_pairs(fast, slow):
    """Of all pairs of a run of one and a run of the other, the per cent in which the slower kernel is not behind."""
    return 100 * sum(b <= a for a in fast for b in slow) / (len(fast) * len(slow))


def covered(rows):
    """The per cent of runs whose interval holds the median of all: 95 where it is right."""
    middle = statistics.median(column(rows, "mean"))
    return 100 * sum(row["low"] <= middle <= row["high"] for row in rows) / len(rows)


def column(rows, key):
    return [row[key] for row in rows]


def differences(values):
    """Of each pair of runs of the same program by how much they differ, per cent."""
    return [100 * abs(a / b - 1) for a, b in itertools.combinations(values, 2)]


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def kept(folder=KEPT):
    """The visits whose samples are in a folder, in their order."""
    return [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))]


def count(visits, name):
    """How many runs of a kernel there are."""
    return sum(len(visit["kernels"].get(name, {}).get("kernel", ())) for visit in visits)


def per_cent(value, digits=3):
    return "" if value is None else "%.*f %%" % (digits, value)


def mean_of(values):
    return statistics.mean(values) if values else None


class Figures:
    """One kernel on one model of GPU: pairs are those of all visits, since users come at any time."""

    def __init__(self, pairs):
        """pairs: of each visit the runs of the kernel and of its slower copy, by turns."""
        self.pairs = pairs
        self.fast, self.slow = ([row for pair in pairs for row in pair[which]] for which in (0, 1))
        self.neighbors = [(a["mean"], b["mean"]) for pair in pairs for a, b in zip(*pair)]
        self.wrong_neighbors = sum(b <= a for a, b in self.neighbors)
        self.differing = differences(column(self.fast, "mean")) + differences(column(self.slow, "mean"))

    def within(self, key):
        return mean_of([spread(column(rows, key)) for pair in self.pairs for rows in pair if len(rows) > 1])

    def between(self, key):
        medians = [statistics.median(column(pair[0], key)) for pair in self.pairs]
        return spread(medians) if len(medians) > 1 else None

    def row(self, name, gpu):
        whole = [pair for pair in self.pairs if all(pair)]
        gap = mean_of([100 * (statistics.median(column(slow, "mean")) / statistics.median(column(fast, "mean")) - 1) for fast, slow in whole])
        rows = self.fast + self.slow
        holding = sum(covered(part) * len(part) / 100 for pair in self.pairs for part in pair if part)
        return (name, gpu, len(self.pairs), "%d + %d" % (len(self.fast), len(self.slow)),
                "%.2f µs" % (statistics.median(column(self.fast, "mean")) / 1e3),
                *(per_cent(value) for key in ("mean", "raw-mean") for value in (self.within(key), self.between(key))),
                per_cent(50 * statistics.median((row["high"] - row["low"]) / row["mean"] for row in rows)),
                per_cent(100 * holding / len(rows), 0), per_cent(gap, 2),
                "%d of %d" % (self.wrong_neighbors, len(self.neighbors)),
                per_cent(wrong_pairs(column(self.fast, "mean"), column(self.slow, "mean")) if self.slow else None, 2),
                per_cent(statistics.median(self.differing) if self.differing else None),
                per_cent(percentile(self.differing, 0.95) if self.differing else None))


def together(figures):
    """All kernels: the last row of figures, by which the goals are meant."""
    neighbors, wrong = sum(len(one.neighbors) for one in figures), sum(one.wrong_neighbors for one in figures)
    pairs = sum(len(one.fast) * len(one.slow) for one in figures)
    behind = sum(len(one.fast) * len(one.slow) * wrong_pairs(column(one.fast, "mean"), column(one.slow, "mean")) / 100
                 for one in figures if one.slow)
    differing = [value for one in figures for value in one.differing]
    return ("all kernels", *[""] * 11, "%d of %d, %s" % (wrong, neighbors, per_cent(100 * wrong / max(neighbors, 1), 2)),
            per_cent(100 * behind / max(pairs, 1), 2), *(per_cent(value) for value in (
                statistics.median(differing) if differing else None, percentile(differing, 0.95) if differing else None)))


def table(visits):
    """The rows for COLUMNS; none where there is no sample."""
    found = {}
    for visit in visits:
        for name, runs in visit["kernels"].items():
            if runs["kernel"]:
                found.setdefault((name, visit["gpu"]), []).append((runs["kernel"], runs["slower"]))
    figures = {key: Figures(pairs) for key, pairs in sorted(found.items())}
    return [*(one.row(*key) for key, one in figures.items()), together(figures.values()), *GOALS] if figures else []
