"""Solves classes of problems with outlay and HiGHS, checks the certificates, writes the tables.

A whole run writes bench/promises/results.json and the tables of README.md and docs/reference/promises.md.
"""

import argparse
import os
import pathlib
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

from . import highs, results, tables
from .classes import BY_NAME, CLASSES
from .measure import ROOT, TARGET, build, measure

QUICK_SIZES = {10: 1}


def main():
    arguments = parsed()
    if arguments.tables:
        write_pages(results.read())
        return
    if not highs.highspy:
        if not arguments.quick:
            raise SystemExit("error: highspy is missing: install bench/promises/requirements.txt")
        print("highspy is not installed: without HiGHS", file=sys.stderr)
    classes = [BY_NAME[name] for name in arguments.classes] or CLASSES
    cases = [
        (each.name, tasks, seed)
        for each in classes
        for tasks, seeds in (QUICK_SIZES if arguments.quick else each.sizes).items()
        for seed in range(1, 1 + seeds)
    ]
    build()
    records, faults = solve(cases, arguments.jobs)
    if faults:
        raise SystemExit("\n".join(["error: a certificate does not hold:", *faults]))
    is_whole = not arguments.quick and not arguments.classes
    output = arguments.output or (results.RESULTS if is_whole else TARGET / "promises/results.json")
    output.parent.mkdir(parents=True, exist_ok=True)
    words = ["bench/promises/run", *(["--quick"] if arguments.quick else []), *arguments.classes]
    found = results.described(" ".join(words), records)
    output.write_text(results.text(found))
    print(output)
    if output == results.RESULTS:
        write_pages(results.read())


def parsed():
    parser = argparse.ArgumentParser(prog="bench/promises/run", description=__doc__)
    add = parser.add_argument
    add("classes", nargs="*", metavar="CLASS", help=f"only these: {', '.join(BY_NAME)}")
    add("--quick", action="store_true", help="ten tasks, one instance per class: a few seconds")
    jobs = min(2, os.cpu_count() or 1)
    at_a_time = "instances at a time [default: %(default)s]"
    add("--jobs", type=int, default=jobs, metavar="N", help=at_a_time)
    file = "write only this file [default for a part: target/promises/results.json]"
    add("--output", type=pathlib.Path, metavar="FILE", help=file)
    add("--tables", action="store_true", help="only write the tables again from results.json")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.classes if name not in BY_NAME]
    if unknown:
        parser.error(f"unknown class {', '.join(unknown)}: expected one of {', '.join(BY_NAME)}")
    if arguments.jobs < 1:
        parser.error(f"--jobs must be at least 1, not {arguments.jobs}")
    if arguments.tables and (arguments.classes or arguments.quick or arguments.output):
        parser.error("--tables measures nothing: it takes no other arguments")
    return arguments


def solve(cases, jobs):
    """The records in the order of the cases, and all contradictions. Long cases begin first."""
    found, faults = {}, []
    # Only this process reacts to an interrupt.
    ignore = (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=ignore)
    try:
        ordered = sorted(cases, key=lambda case: -case[1])
        waiting = {pool.submit(measure, *case): case for case in ordered}
        for done in as_completed(waiting):
            record, contradictions = done.result()
            found[waiting[done]] = record
            faults += contradictions
            print(f"[{len(found)}/{len(cases)}] {progress(record)}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except RuntimeError as error:
        raise SystemExit(f"error: {error}") from None
    finally:
        pool.shutdown(cancel_futures=True)
    return [found[case] for case in cases], faults


def progress(record):
    line = f"{record['class']} K={record['tasks']:,} seed {record['seed']}: gap {record['gap']:.0e}"
    theirs = record["highs"]
    return f"{line}, HiGHS {theirs['times']:g} times as long" if theirs else line


def write_pages(found):
    for path, page in tables.pages(found).items():
        path.write_text(page)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
