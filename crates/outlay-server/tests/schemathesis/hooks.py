"""Hooks that give schemathesis an existing campaign and a token."""

import atexit
import collections
import json
import os
import pathlib
import urllib.request

import schemathesis

BASE = os.environ["OUTLAY_BASE"]
TOKEN = os.environ.get("OUTLAY_TOKEN")
PROBLEM = {
    "budget": 10,
    "task": [
        {"name": "a", "value": 1, "curve": {"family": "exponential", "scale": 2}},
        {"name": "b", "value": 2, "curve": {"family": "hill", "half_at": 4, "steepness": 2}},
    ],
}


def send(method, path, body):
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers, method=method)
    urllib.request.urlopen(request).close()


# The campaign of the examples in the description, with reported and open rounds.
send("PUT", "/v1/campaigns/shop", {"problem": PROBLEM})
send("POST", "/v1/campaigns/shop/rounds", {"count": 3})
send("PUT", "/v1/campaigns/shop/rounds/1/feedback", {"results": [{"task": "a", "completed": True, "reward": 0.7}]})


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """NDJSON with one line per item of a list, or a single line."""
    return "\n".join(json.dumps(line) for line in (value if isinstance(value, list) else [value])).encode()


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Sends most requests to the existing campaign and its first rounds; random ids exist nowhere."""
    if not path_parameters or not is_plain(path_parameters.get("campaign", "")):
        return path_parameters
    changed = dict(path_parameters)
    if "campaign" in changed and len(changed["campaign"]) % 4:
        changed["campaign"] = "shop"
    if isinstance(changed.get("round"), int) and changed["round"] > 0:
        changed["round"] = 1 + changed["round"] % 3
    return changed


def is_plain(campaign):
    """True if it could be an id; ids that are invalid on purpose stay invalid."""
    return isinstance(campaign, str) and campaign.replace("-", "").replace("_", "").replace(".", "").isalnum() and campaign.isascii()


OWN = TOKEN.split("_")[1] if TOKEN else None
LEARNERS = ["kl-ucb-plus", "algorithm-1", "thompson", "epsilon-greedy", "uniform"]


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives three in four of the valid requests a body that makes sense; the others stay random."""
    if case.operation.path.endswith("/stream") and "max_seconds" not in (case.query or {}):
        # A stream continues until one side ends it.
        case.query = {**(case.query or {}), "max_seconds": 1}
    if case.method.upper() == "DELETE" and (case.path_parameters or {}).get("campaign") == "shop":
        # The campaign of the other requests must stay: another one is created to be deleted.
        case.path_parameters["campaign"] = "another"
        if case.meta and case.meta.generation.mode.is_positive:
            send("PUT", "/v1/campaigns/another", {"problem": PROBLEM})
            case.query = {**(case.query or {}), "force": "true"}
            case.headers = {**(case.headers or {}), "if-match": "*"}
    if case.operation.path.endswith("/problem") and case.meta and case.meta.generation.mode.is_positive:
        # The tasks of the other requests must stay.
        case.body = {"problem": PROBLEM}
    if OWN and (case.path_parameters or {}).get("id") == OWN:
        # The token in use must not be revoked: all later requests would fail.
        case.path_parameters["id"] = "0"
    if case.meta and case.meta.generation.mode.is_positive and isinstance(case.body, dict):
        chance = len(json.dumps(case.body))
        if chance % 4:
            case.body = with_sense(case.body, chance)


def with_sense(body, chance):
    """The same keys, with a solvable problem, an existing learner and the problem's tasks."""
    body = dict(body)
    if "problem" in body:
        body["problem"] = PROBLEM
    if isinstance(body.get("learner"), str):
        body["learner"] = LEARNERS[chance % len(LEARNERS)]
    if "task" in body:
        body["task"] = "ab"[chance % 2]
    if isinstance(body.get("without"), list):
        body["without"] = body["without"] and ["a"]
    if body.get("scale"):
        body["scale"] = {"a": 1.0 + chance / 100}
    if body.get("volume") and "problem" not in body:
        del body["volume"]
    if isinstance(body.get("results"), list):
        body["results"] = [with_sense(result, chance + place) for place, result in enumerate(body["results"][:2])]
    if body.get("reward") is not None:
        body["reward"] = 0.25
    if body.get("budget") is not None:
        body["budget"] = chance
    if body.get("values"):
        body["values"] = {"a": 0.5}
    return body


# The statuses of each operation: a run in which every request is refused tests little.
answers = collections.defaultdict(collections.Counter)


@schemathesis.hook
def after_call(context, case, response):
    answers[case.operation.label][response.status_code] += 1


@atexit.register
def keep_answers():
    pathlib.Path(os.environ["OUTLAY_ANSWERS"]).write_text(json.dumps(answers, indent=1, sort_keys=True))
