"""Runs all comparisons on the same instances. Writes RESULTS.md, results.json and growth.svg.

A section is a module with `TITLE`; `measure(quick)`, which gives its figures as plain data; `report(figures)`, its lines of Markdown;
`faults(figures)`, what makes the comparison worthless. `goals.py` judges the figures of all.
"""

import argparse
import json
import pathlib
import sys
import time

from . import bandits, goals, growth, limits, machine, oracle, picture, reading, rounds, splits, start
from .engine import BENCH, TARGET

SECTIONS = {"limits": limits, "oracle": oracle, "rounds": rounds, "bandits": bandits, "growth": growth, "start": start, "reading": reading, "splits": splits}


def main():
    parser = argparse.ArgumentParser(prog="bench/run", description="Every comparison on the same instances in one run.")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"only these: {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="one instance each, short horizons: a few minutes")
    parser.add_argument("--output", type=pathlib.Path, help="folder for the results; bench/ for a whole run, else target/bench")
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    is_whole = not arguments.quick and not arguments.sections
    output = arguments.output or (BENCH if is_whole else TARGET / "bench")
    output.mkdir(parents=True, exist_ok=True)

    results = {"command": command(), "machine": machine.describe(), "sections": {}}
    for name, section in SECTIONS.items():
        if not arguments.sections or name in arguments.sections:
            print(f"== {name}", flush=True)
            begin = time.perf_counter()
            figures = section.measure(arguments.quick)
            results["sections"][name] = {"wall_seconds": time.perf_counter() - begin, "figures": figures}
    write(results, output)
    faults = [fault for name, section in results["sections"].items() for fault in SECTIONS[name].faults(section["figures"])]
    if faults:
        raise SystemExit("\n".join(["error: the comparison does not hold:", *faults]))


def command():
    words = [word for word in sys.argv[1:] if not word.startswith("/")]
    return " ".join(["bench/run", *words]).replace(" --output", "")


def write(results, output):
    if "growth" in results["sections"]:
        picture.draw(results["sections"]["growth"]["figures"], output / "growth.svg")
    (output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (output / "RESULTS.md").write_text("\n".join(report(results)) + "\n")
    print(f"{output / 'RESULTS.md'}")


def report(results):
    minutes = sum(section["wall_seconds"] for section in results["sections"].values()) / 60
    lines = ["# outlay compared with other programs and the machine's limits", ""]
    lines += [
        f"Written by `{results['command']}` in {minutes:.0f} minutes; [bench/README.md](README.md) describes the methods and their fairness.",
        "",
        machine.sentence(results["machine"]),
        "",
        *goals.report(results["sections"], "--quick" in results["command"]),
    ]
    for name, section in results["sections"].items():
        lines += ["", f"## {SECTIONS[name].TITLE}", "", *SECTIONS[name].report(section["figures"])]
    return lines


if __name__ == "__main__":
    main()
