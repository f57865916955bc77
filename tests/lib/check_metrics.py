# SPDX-License-Identifier: MIT
"""Reads a JSON list of pages in Prometheus' text format, one after the other of the same server, and checks them with prometheus-client
and by the rules of OpenMetrics that hold for that format, too. Needs prometheus-client."""
import json
import math
import re
import sys

from prometheus_client.parser import text_string_to_metric_families

SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
# A label's values are bounded: none is a user, a board or a submission.
LABELS = {"device", "mode", "state", "result", "frontend", "le"}


def heads(text):
    """Faults of the comment lines: each family has its HELP and its TYPE, in front of all of its samples, which are together."""
    told, at, ended, faults = {}, None, set(), []
    for line in text.splitlines():
        found = re.match(r"# (HELP|TYPE) (\S+) (\S.*)", line)
        if not found and line.startswith("#"):
            faults.append(f"a comment: {line}")
        elif found:
            told.setdefault(found[2], []).append(found[1])
            if found[2] != at:
                ended.add(at)
                at = found[2]
                faults += [f"{at} comes again"] * (at in ended)
        else:
            name = re.match(r"\w+", line)[0]
            faults += [f"{name} is not below its own head, but below {at}'s"] * (re.sub("_(bucket|sum|count)$", "", name) != at and name != at)
    return faults + [f"{name} has {lines}" for name, lines in told.items() if lines != ["HELP", "TYPE"]]


def histograms(family):
    """Faults of a histogram: of each set of labels the buckets rise up to +Inf, which is the count."""
    found, faults = {}, []
    for sample in family.samples:
        labels = dict(sample.labels)
        limit = labels.pop("le", None)
        one = found.setdefault(tuple(sorted(labels.items())), {"buckets": []})
        if limit is None:
            one[sample.name.removeprefix(family.name)] = sample.value
        else:
            one["buckets"].append((float(limit), sample.value))
    for labels, one in found.items():
        limits, counts = zip(*one["buckets"]) if one["buckets"] else ((), ())
        if list(limits) != sorted(set(limits)) or list(counts) != sorted(counts) or not limits or limits[-1] != math.inf or \
                one.get("_count") != counts[-1] or one.get("_sum", -1) < 0:
            faults.append(f"{family.name}{dict(labels)}: {one}")
    return faults


def check(text, before):
    """(faults, {sample: value} of what only rises). before: those of the page before."""
    faults, rising, seen = heads(text), {}, set()
    for family in text_string_to_metric_families(text):
        if family.type not in SUFFIXES or not family.documentation:
            faults.append(f"{family.name}: {family.type} `{family.documentation}`")
            continue
        faults += histograms(family) if family.type == "histogram" else []
        for sample in family.samples:
            key = sample.name, *sorted(sample.labels.items())
            faults += [f"{key} comes twice"] * (key in seen)
            seen.add(key)
            suffix = sample.name.removeprefix(family.name)
            if suffix not in SUFFIXES[family.type] or not set(sample.labels) <= LABELS or not math.isfinite(sample.value):
                faults.append(f"{family.type} {sample}")
            if family.type != "gauge":
                rising[key] = sample.value
                faults += [f"{key} falls: {before[key]}, {sample.value}"] if before.get(key, 0) > sample.value else []
    return faults + [f"{key} is gone" for key in before if key not in rising], rising


def main():
    faults, before = [], {}
    for text in json.load(sys.stdin):
        more, before = check(text, before)
        faults += more
    sys.exit("\n".join(faults[:20]) or 0)


main()
