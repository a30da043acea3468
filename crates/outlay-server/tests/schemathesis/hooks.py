"""What schemathesis cannot know: a campaign to ask about, and a token to ask with."""

import json
import os
import urllib.request

import schemathesis

BASE = os.environ["OUTLAY_BASE"]
TOKEN = os.environ.get("OUTLAY_TOKEN")
PROBLEM = {
    "budget": 10,
    "task": [
        {"name": "a", "curve": {"family": "exponential", "scale": 2}},
        {"name": "b", "curve": {"family": "hill", "half_at": 4, "steepness": 2}},
    ],
}


def send(method, path, body):
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers, method=method)
    urllib.request.urlopen(request).close()


# The campaign of the examples in the description, with something told and something open.
send("PUT", "/v1/campaigns/shop", {"problem": PROBLEM})
send("POST", "/v1/campaigns/shop/rounds", {"count": 3})
send("PUT", "/v1/campaigns/shop/rounds/1/feedback", {"results": [{"task": "a", "completed": True, "reward": 0.7}]})


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """A report of one line; a list would be one of several."""
    return "\n".join(json.dumps(line) for line in (value if isinstance(value, list) else [value])).encode()


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Ids made up at random are nobody's: most requests go to the campaign that is there, and to its first rounds."""
    if not path_parameters or not is_plain(path_parameters.get("campaign", "")):
        return path_parameters
    changed = dict(path_parameters)
    if "campaign" in changed and len(changed["campaign"]) % 4:
        changed["campaign"] = "shop"
    if isinstance(changed.get("round"), int) and changed["round"] > 0:
        changed["round"] = 1 + changed["round"] % 3
    return changed


def is_plain(campaign):
    """Whether it could be an id; what is wrong on purpose stays wrong."""
    return isinstance(campaign, str) and campaign.replace("-", "").replace("_", "").replace(".", "").isalnum() and campaign.isascii()


if TOKEN:
    OWN = TOKEN.split("_")[1]

    @schemathesis.hook
    def before_call(context, case, kwargs):
        """The token that asks must not be revoked: nothing could be asked any more."""
        if (case.path_parameters or {}).get("id") == OWN:
            case.path_parameters["id"] = "0"
