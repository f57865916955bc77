#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make bench-plots: draws the pictures of docs/benchmarks.md with matplotlib, from the samples that results.json keeps.

    plots.py RESULTS FOLDER

The same results give the same files: no date, no random names, text as text. Each file says in its metadata from which
results it is drawn (`digest`)."""
import hashlib
import json
import pathlib
import statistics
import sys

# Section: its picture, and what that shows, for readers who do not see it.
PICTURES = {
    "baseline": ("bench-submissions.svg", "Total time of ranked submissions in Kettle and by a KernelBot-style driver, by kind of task"),
    "python": ("bench-python.svg", "Time until the first line of a Python submission: cold, warm, and with a copy ready"),
    "submit": ("bench-overhead.svg", "The parts of what Kettle adds to a C++ submission, with and without a server"),
    "accept": ("bench-accepted.svg", "Submissions accepted per second, 512 at a time and one at a time"),
    "scores": ("bench-scores.svg", "How far scores and plain means of fresh runs of the same kernel are apart"),
}
# Okabe and Ito's colours, which people with any kind of colour vision tell apart; each with a marker of its own.
STYLES = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"))
TEXT, GRID, BACKGROUND = "#24292f", "#d0d7de", "#ffffff"
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "kettle", "svg.image_inline": True, "font.size": 10,
            "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"], "axes.spines.top": False,
            "axes.spines.right": False, "axes.spines.left": False, "text.color": TEXT, "axes.labelcolor": TEXT,
            "axes.edgecolor": GRID, "xtick.color": TEXT, "ytick.color": TEXT, "figure.facecolor": BACKGROUND,
            "axes.facecolor": BACKGROUND, "axes.titlesize": 10, "axes.titlelocation": "left", "path.simplify": False}
WIDTH = 7.5  # inches, as all measures of a figure
ROW, MARGIN = 0.27, 1.25
MODULES = ("bare", "numpy", "torch")


def digest(data):
    """Of all that a picture is drawn from."""
    drawn = {"rows": {name: [row["samples"], row["figures"]] for name, row in data["rows"].items()},
             "plotted": data.get("plotted"), "variation": data.get("variation")}
    return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()


def row(data, name):
    """{"samples", "figures"} of a row; None: it was not measured."""
    found = data["rows"].get(name)
    return found if found and found["figures"] else None


def row_of(values):
    return {"samples": values, "figures": {"median": statistics.median(values)}}


def row_of_one(value):
    return {"samples": [], "figures": {"median": value}}


def amount(value, unit):
    """A median for people: "1.72 s", "512 ms", "6,396 /s"; of differences, whose unit is +%, "-0.50 %"."""
    if unit == "+%":
        return f"{round(value, 2) + 0:+.2f} %"
    if unit == "ms" and value >= 1000:
        value, unit = value / 1000, "s"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def strip(axes, y, found, style):
    """Each sample as a dot around the line y, the median as a stroke. Without samples the median as one mark, and a line
    from there to p95."""
    color, marker = style
    values, middle = found["samples"], found["figures"]["median"]
    if values:
        # A fixed pattern instead of chance, so that dots of the same value do not cover each other.
        heights = [y + 0.5 * ((i * 0.618034) % 1 - 0.5) for i in range(len(values))]
        axes.scatter(values, heights, s=12, color=color, marker=marker, alpha=0.6, linewidths=0, zorder=2)
        axes.plot([middle, middle], [y - 0.42, y + 0.42], color=TEXT, linewidth=1.5, zorder=3)
    else:
        axes.plot([middle, found["figures"].get("p95", middle)], [y, y], color=color, linewidth=1.5, zorder=2)
        axes.scatter([middle], [y], s=36, color=color, marker=marker, linewidths=0, zorder=3)
    return middle


def strips(axes, groups, unit, log=True):
    """groups: [(label, [(series, row), …]), …], from above. Returns the series in their order."""
    y, ticks, known = 0, [], []
    for label, entries in groups:
        first = y
        for series, found in entries:
            known += [series] * (series not in known)
            middle = strip(axes, y, found, STYLES[known.index(series)])
            axes.annotate(amount(middle, unit), (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=9)
            y += 1
        ticks.append(((first + y - 1) / 2, label))
        y += 0.7
    axes.set_ylim(y - 1, -0.8)
    axes.set_yticks([at for at, _ in ticks], [label for _, label in ticks])
    axes.tick_params(length=0)
    if log:
        from matplotlib.ticker import LogLocator, NullLocator
        axes.set_xscale("log")
        least, most = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if most < 200 * least else (1,), numticks=20))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(lambda value, _: amount(value, unit))
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    return known


def legend(figure, series, groups):
    from matplotlib.lines import Line2D
    marks = [Line2D([], [], color=color, marker=marker, linestyle="", label=name) for name, (color, marker) in zip(series, STYLES)]
    rows = [found for _, entries in groups for _, found in entries]
    if any(found["samples"] for found in rows):
        marks.append(Line2D([], [], color=TEXT, marker="|", markersize=9, linestyle="", label="median"))
    elif any("p95" in found["figures"] for found in rows):
        marks.append(Line2D([], [], color=TEXT, label="from the median to p95"))
    figure.legend(handles=marks, loc="lower center", ncols=len(marks), frameon=False, fontsize=9)


def page_of(plt, title, lines, columns=1, share=None):
    """A figure with room for so many strips, and its axes. share: widths of the columns."""
    height = MARGIN + ROW * lines
    figure, axes = plt.subplots(1, columns, figsize=(WIDTH, height), squeeze=False, width_ratios=share)
    figure.suptitle(title, x=0.02, y=1 - 0.12 / height, ha="left", va="top", fontsize=11, fontweight="bold")
    figure.subplots_adjust(left=0.2, right=0.89, top=1 - 0.5 / height, bottom=0.62 / height)
    return figure, axes[0]


def count(groups):
    return sum(len(entries) + 0.7 for _, entries in groups)


def one_panel(plt, title, groups, unit, mark=None):
    groups = [(label, [(series, found) for series, found in entries if found]) for label, entries in groups]
    groups = [(label, entries) for label, entries in groups if entries]
    figure, axes = page_of(plt, title, count(groups))
    legend(figure, strips(axes[0], groups, unit), groups)
    if mark:
        axes[0].axvline(mark[0], color=TEXT, linewidth=0.8, linestyle=":", zorder=1)
        axes[0].annotate(mark[1], (mark[0], -0.75), ha="right", va="center", fontsize=8, xytext=(-3, 0), textcoords="offset points")
    return figure


# ---- the pictures ----

def draw_baseline(plt, data):
    def of(kind, name):
        return row(data, f"{kind}, ranked: {name}")
    driver, cold, warm = "KernelBot-style driver", "Kettle, cold", "Kettle, warm"
    groups = [("Python" if kind == "bare" else f"Python, {kind}", [(name, of(kind, name)) for name in (driver, cold, warm)])
              for kind in MODULES]
    groups.append(("C++", [(driver, of("vectoradd_cpp", driver)), (cold, of("vectoradd_cpp", "Kettle"))]))
    return one_panel(plt, "Total time of a ranked submission (shorter is better)", groups, "ms")


def draw_python(plt, data):
    groups = [(kind, [(series, row(data, f"{kind}, {key}: first line")) for series, key in (
        ("cold", "cold"), ("warm", "warm"), ("warm, one ready", "warm, one ready"))]) for kind in MODULES]
    return one_panel(plt, "Python until the first line of user code (shorter is better)", groups, "ms")


def draw_submit(plt, data):
    groups = [(part, [(f"with {name}" if name == "server" else name, row(data, f"{name}: {part}"))
                      for name in ("server", "no server")])
              for part in ("overhead", "queue", "build", "start", "record", "command line")]
    return one_panel(plt, "What Kettle adds to a C++ submission, and its parts (shorter is better)", groups, "ms")


def draw_accept(plt, data):
    groups = [(disk, [(series, row(data, f"{disk}, {key}")) for series, key in (
        ("512 at a time", "512 at a time"), ("one at a time", "one at a time"))]) for disk in ("this disk", "every sync 5 ms")]
    return one_panel(plt, "Submissions accepted per second (more is better)", groups, "/s", (2000, "target of 512 at a time"))


def draw_variation(plt, data):
    """What is kept of scores without their samples."""
    groups = [(condition, [(what, row_of_one(kinds[what])) for what in ("score", "plain mean")])
              for condition, kinds in data["variation"].items()]
    return one_panel(plt, "Coefficient of variation of fresh runs of a kernel (less is better)", groups, "%")


def draw_scores(plt, data):
    from matplotlib.ticker import MaxNLocator
    conditions = data.get("plotted")
    if not conditions:
        return draw_variation(plt, data)
    figure, panels = page_of(plt, "Scores of a kernel and of one that does 1 % more work", 5.9,
                             len(conditions))
    for axes, (condition, kernels) in zip(panels, conditions.items()):
        groups = []
        for what in ("score", "plain mean"):
            middle = statistics.median(kernels["kernel"][what])
            groups.append((what, [(name, row_of([100 * (value / middle - 1) for value in kernels[key][what]]))
                                  for name, key in (("kernel", "kernel"), ("1 % more work", "slower"))]))
        series = strips(axes, groups, "+%", log=False)
        axes.set_title(f"machine: {condition}")
        axes.set_xlabel("difference from the kernel's median", fontsize=9)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g} %" if value else "0 %")
    panels[-1].set_yticklabels([])
    figure.subplots_adjust(wspace=0.32, top=figure.subplotpars.top - 0.07, bottom=figure.subplotpars.bottom + 0.07)
    legend(figure, series, groups)
    return figure


DRAW = {"baseline": draw_baseline, "python": draw_python, "submit": draw_submit, "accept": draw_accept, "scores": draw_scores}


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plots.py RESULTS FOLDER")
    try:
        import matplotlib
        matplotlib.use("svg")
        import matplotlib.pyplot as plt
    except ImportError:
        sys.exit(f"bench-plots: {sys.executable} has no matplotlib; install Debian's python3-matplotlib and use "
                 "`make bench-plots PLOTTER=/usr/bin/python3`")
    matplotlib.set_loglevel("error")  # of the fonts only the first one must be there
    sections, folder = json.loads(pathlib.Path(sys.argv[1]).read_text())["sections"], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(SETTINGS):
        for name, (file, alt) in PICTURES.items():
            if name not in sections or sections[name]["failed"]:
                continue
            figure = DRAW[name](plt, sections[name])
            figure.savefig(folder / file, metadata={"Date": None, "Creator": None, "Title": alt,
                                                    "Description": f"digest {digest(sections[name])}"})
            plt.close(figure)
            print(folder / file)


if __name__ == "__main__":
    main()
