"""The tables of README.md and docs/reference/promises.md, made of results."""

import math

from .classes import GROUPS
from .measure import ROOT
from .summary import TOLERANCE, summarise

OPEN, CLOSE = "<!-- promises -->", "<!-- end of promises -->"
COLUMNS = (100, 300, 1_000)


def pages(results):
    """The pages that show the results: their paths, and their text as the results have it."""
    return {
        ROOT / path: refreshed((ROOT / path).read_text(), "\n".join(lines(results)))
        for path, lines in (("README.md", overview), ("docs/reference/promises.md", details))
    }


def refreshed(page, block):
    """The page with the text between its marks replaced."""
    before, opened, rest = page.partition(OPEN)
    _, closed, after = rest.partition(CLOSE)
    if not (opened and closed):
        raise ValueError(f"the page has no block between {OPEN} and {CLOSE}")
    return f"{before}{OPEN}\n\n{block}\n\n{CLOSE}{after}"


def overview(results):
    """One row per group of classes."""
    rows = []
    for title, classes in GROUPS.items():
        found = of_classes(results, classes)
        if not found:
            continue
        summary = summarise(found)
        sizes = (summarise_or_none(found, tasks) for tasks in COLUMNS)
        rows.append(
            [
                title,
                f"{max(record['tasks'] for record in found):,}",
                share(summary.solved, summary.instances),
                gap(summary.largest_gap),
                *(time_ratio(size) if size else "" for size in sizes),
                better(summary),
            ]
        )
    first, *others = (f"K = {tasks:,}" for tasks in COLUMNS)
    head = ["curves", "K up to", "proved", "largest gap", f"HiGHS time, {first}", *others]
    head.append("HiGHS better")
    return table(head, rows)


def details(results):
    """One row per class and number of tasks."""
    lines = [f"{len(results['instances']):,} instances; {versions(results)}."]
    head = ["curves", "K", "instances", "proved", "largest gap"]
    head += ["HiGHS time", "finished", "HiGHS value", "HiGHS better"]
    for title, classes in GROUPS.items():
        if not of_classes(results, classes):
            continue
        rows = []
        for each in classes:
            found = of_classes(results, [each])
            for tasks in sorted({record["tasks"] for record in found}):
                rows.append([each.title, *detail(summarise_or_none(found, tasks), tasks)])
        lines += ["", f"### {title[0].upper()}{title[1:]}", "", *table(head, rows)]
    return lines


def detail(summary, tasks):
    finished = share(summary.finished, summary.tried) if summary.tried else ""
    return [
        f"{tasks:,}",
        str(summary.instances),
        share(summary.solved, summary.instances),
        gap(summary.largest_gap),
        time_ratio(summary),
        finished,
        span(summary.values) if summary.values else "",
        better(summary),
    ]


def versions(results):
    return f"outlay {results['outlay']}, HiGHS {results['highs']}, by `{results['command']}`"


def of_classes(results, classes):
    names = {each.name for each in classes}
    return [record for record in results["instances"] if record["class"] in names]


def summarise_or_none(records, tasks):
    found = [record for record in records if record["tasks"] == tasks]
    return summarise(found) if found else None


def table(head, rows):
    """The first column is text, and the others are numbers."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def share(part, whole):
    """Never 100 % unless it is all."""
    return f"{math.floor(100 * part / whole)} %"


def gap(number):
    return "<1e-12" if number < 1e-12 else rounded_up(number)


def rounded_up(number):
    """One digit, so that no number is above what is shown."""
    digits = f"{number:.0e}"
    if float(digits) < number:
        exponent = math.floor(math.log10(number))
        digits = f"{float(f'{math.floor(number / 10**exponent) + 1}e{exponent}'):.0e}"
    return digits.replace("e-0", "e-")


def time_ratio(summary):
    if summary.times is None:
        return ""
    digits = float(f"{summary.times:.2g}")
    text = f"{digits:,.0f}" if digits >= 10.0 else f"{digits:g}"
    return f">{text}" if summary.is_cut else text


def span(values):
    least, most = map(difference, values)
    return least if least == most else f"{least} to {most}"


def difference(value):
    if abs(value) <= TOLERANCE:
        return "0"
    return f"{value:+.0e}".replace("e-0", "e-").replace("e+00", "")


def better(summary):
    """How often HiGHS had the better value or bound; without exact models only values count."""
    if not summary.tried:
        return ""
    counts = (
        ("value", summary.better_values, summary.tried),
        ("bound", summary.better_bounds, summary.exact),
    )
    found = [f"{what} {count}/{of}" for what, count, of in counts if count]
    never = "never" if summary.exact == summary.tried else "never (value)"
    return ", ".join(found) or never
