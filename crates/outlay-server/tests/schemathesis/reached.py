"""Counts how often each operation succeeded: a run in which all requests are refused tests little.

reached.py ANSWERS.json [OPERATION_THAT_CANNOT_SUCCEED]..."""

import json
import sys

path, *excused = sys.argv[1:]
with open(path) as file:
    answers = json.load(file)
missed = []
for operation, statuses in answers.items():
    through = sum(count for status, count in statuses.items() if int(status) < 400)
    print(f"  {operation:60} {through:5} succeeded, {sum(statuses.values()) - through:5} refused")
    if not through and operation not in excused:
        missed.append(operation)
if missed:
    sys.exit(f"error: never succeeded: {', '.join(missed)}; hooks.py must create valid requests for them")
