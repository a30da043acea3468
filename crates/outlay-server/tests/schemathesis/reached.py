"""How often each operation was let through: a run whose requests are all refused says little.

reached.py ANSWERS.json [OPERATION_THAT_CANNOT_BE]..."""

import json
import sys

path, *excused = sys.argv[1:]
with open(path) as file:
    answers = json.load(file)
missed = []
for operation, statuses in answers.items():
    through = sum(count for status, count in statuses.items() if int(status) < 400)
    print(f"  {operation:60} {through:5} let through, {sum(statuses.values()) - through:5} refused")
    if not through and operation not in excused:
        missed.append(operation)
if missed:
    sys.exit(f"error: never let through: {', '.join(missed)}; hooks.py must make requests that are")
