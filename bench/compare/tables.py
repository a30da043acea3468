"""Markdown tables and readable numbers."""


def table(head, rows):
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def seconds(number):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if number >= size:
            return f"{three(number / size)} {unit}"
    return f"{three(number / 1e-9)} ns"


def size(number):
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= one:
            return f"{three(number / one)} {unit}"
    return f"{number:.0f} B"


def three(number):
    """Three digits without an exponent."""
    if number < 0.0995:
        return f"{number:.2g}"
    return f"{number:,.0f}" if number >= 99.95 else f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def times(ratio):
    return f"{three(ratio)}x"


def span(numbers, form):
    """The smallest and the largest."""
    least, most = form(min(numbers)), form(max(numbers))
    return least if least == most else f"{least} .. {most}"


def verdict(met):
    return "met" if met else "NOT met"
