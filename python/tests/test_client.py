"""The client with the real service: its methods, its errors, and restarts of the service."""

from __future__ import annotations

import doctest
import http.server
import os
import pathlib
import pickle
import re
import signal
import socket
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import outlay.client
from outlay.client import BULK_LINES, Client, bulks
from outlay.service_errors import (
    BadRequest, Conflict, Forbidden, NotFound, ServiceError, TooMany, Unauthorised, Unavailable, Unreachable, VersionMoved, error_of,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "crates/outlay-cli/tests/cli/data"

PROBLEM = {
    "budget": 40,
    "reward_max": 30,
    "task": [
        {"name": "search", "curve": {"family": "exponential", "scale": 9}},
        {"name": "social", "curve": {"family": "hill", "half_at": 11, "steepness": 3}},
    ],
}

DAILY = {
    "budget": 100,
    "reward_max": 50,
    "task": [
        {"name": "search", "volume": 40, "curve": {"family": "exponential", "scale": 30}},
        {"name": "social", "volume": 25, "curve": {"family": "exponential", "scale": 45}},
    ],
}


class Service:
    """A real service in its own folder, on a free port, which tests can kill and restart."""

    def __init__(self, program: str, folder: pathlib.Path, *options: str) -> None:
        self.program, self.folder, self.options = program, folder, options
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        command = [self.program, "serve", "--data", str(self.folder), "--any-file-system", "--listen", self.listen, *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            if found := re.search(r"(https?)://127\.0\.0\.1:(\d+)", line):
                self.url = found.group(0)
                self.listen = f"127.0.0.1:{found.group(2)}"
                return
        raise RuntimeError(f"the service did not start:\n{''.join(said)}")

    def kill(self) -> None:
        """Kills the service, as by a power cut."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def token(self, *scopes: str) -> str:
        words = [word for scope in scopes for word in ("--scope", scope)]
        made = subprocess.run(
            [self.program, "token", "create", *words, "--url", self.url],
            env={**os.environ, **({"OUTLAY_TOKEN": self.admin} if hasattr(self, "admin") else {})},
            capture_output=True, text=True, check=True,
        )
        token = made.stdout.strip()
        if not hasattr(self, "admin"):
            self.admin = token
        return token


@pytest.fixture
def service(program, tmp_path):
    service = Service(program, tmp_path / "data")
    yield service
    if service.process.poll() is None:
        service.kill()


@pytest.fixture
def client(service):
    with Client(service.url) as client:
        yield client


def test_the_docstring_runs(service):
    with Client(service.url) as client:
        tests = doctest.DocTestFinder().find(outlay.client, "outlay.client", extraglobs={"client": client, "problem": PROBLEM})
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        for test in tests:
            runner.run(test)
        assert runner.summarize().attempted >= 40 and runner.failures == 0


def test_the_guide_runs(service, capsys):
    page = (ROOT / "docs/reference/http-api.md").read_text(encoding="utf-8")
    codes = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(codes) == 2
    for code in codes:
        assert "http://127.0.0.1:7341" in code
        exec(code.replace("http://127.0.0.1:7341", service.url), {})
    assert capsys.readouterr().out.startswith("conflict {'task': 'search', 'completed': True, 'reward': 14.49")
    with Client(service.url) as client:
        state, counts = client.get("from-python"), client.get("counts-from-python")
    assert (state["status"], state["rounds"], [task["told"] for task in state["tasks"]]) == ("paused", 3, [1, 2])
    assert [(task["completions"], task["reward_sum"]) for task in counts["tasks"]] == [(23, 580.0), (0, 0.0)]


def test_rounds_have_the_curves_of_the_day(client):
    client.create("busy", DAILY)
    usual, busy = client.ask("busy"), client.ask("busy", scale={"search": np.float64(2.0)}, volume={"social": 50}, key="today")
    assert [task.get("scale") for task in usual["tasks"]] == [None, None]
    assert [(task["scale"], task["volume"]) for task in busy["tasks"]] == [(2.0, 40.0), (1.0, 50.0)]
    assert busy["tasks"][0]["spend"] != usual["tasks"][0]["spend"]
    assert client.ask("busy", volume={"social": 50}, scale={"social": 1, "search": 2}, key="today") == busy
    with pytest.raises(BadRequest) as refused:
        client.ask("busy", scale={"search": 0})
    assert refused.value.pointer == "/scale/search"
    valued = {**DAILY, "task": [{**task, "value": 3} for task in DAILY["task"]]}
    one, other = client.allocate(valued), client.allocate(valued, scale={"search": 2.0})
    assert one["tasks"][0]["spend"] != other["tasks"][0]["spend"]


def test_a_campaign_is_amended(client):
    seen = client.create("changing", PROBLEM)
    client.ask("changing", count=2)
    client.tell("changing", 1, {"search": 14.5, "social": False})
    video = {"name": "video", "curve": {"family": "exponential", "scale": 5}}
    autumn = {**PROBLEM, "budget": 50, "reward_max": 60, "task": [PROBLEM["task"][0], video]}
    state = client.amend("changing", autumn, seen=seen)
    assert (state["version"], state["budget"], state["reward_max"]) == (2, 50, 60)
    assert [(task["task"], task.get("retired", False), task["told"]) for task in state["tasks"]] == [
        ("search", False, 1), ("social", True, 1), ("video", False, 0),
    ]
    assert client.amend("changing", autumn, seen=seen) == state
    with pytest.raises(VersionMoved):
        client.amend("changing", PROBLEM | {"reward_max": 60}, seen=seen)
    with pytest.raises(BadRequest, match="cannot decrease from 60 to 30"):
        client.amend("changing", PROBLEM)
    # An open round of before keeps its tasks.
    assert client.tell("changing", 2, {"social": 9.0, "search": False})["accepted"] == 2
    assert [task["task"] for task in client.ask("changing")["tasks"]] == ["search", "video"]
    amended = [event for event in client.events("changing") if event["kind"] == "amended"]
    assert [(event["added"], event["retired"]) for event in amended] == [(["video"], ["social"])]


def test_a_campaign_from_its_beginning_to_its_end(client):
    state = client.create("shop", PROBLEM, learner="kl-ucb-plus", horizon=100, seed=7)
    assert (state["id"], state["status"], state["version"]) == ("shop", "open", 1)
    assert client.create("shop", PROBLEM, learner="kl-ucb-plus", horizon=100, seed=7) == state
    asked = client.ask("shop", count=3)
    assert asked["rounds"] == [1, 2, 3] and sum(task["spend"] for task in asked["tasks"]) == pytest.approx(40, rel=1e-12)
    other = client.ask("shop", budget=20, without=["social"])
    assert other["rounds"] == [4] and other["tasks"] == [{"task": "search", "spend": 20.0}]
    assert client.tell("shop", 1, {"search": 14.5, "social": False}) == {"accepted": 2, "duplicate": 0, "late": 0}
    assert client.tell("shop", 1, [{"task": "social", "completed": False}]) == {"accepted": 0, "duplicate": 1, "late": 0}
    corrected = client.correct("shop", 1, "search", completed=True, reward=15, why="returned goods")
    assert corrected["to"] == {"task": "search", "completed": True, "reward": 15.0}
    assert [event["kind"] for event in client.events("shop")].count("corrected") == 1
    assert client.get("shop")["tasks"][0]["reward_sum"] == 15.0
    assert [entry["id"] for entry in client.campaigns()] == ["shop"]
    assert [curve["task"] for curve in client.curves("shop", points=3)] == ["search", "social"]
    [social] = client.curves("shop", points=3, task="social", up_to=20)
    assert (social["task"], social["spend"]) == ("social", [0, 10, 20])
    assert client.close_campaign("shop")["status"] == "closed"
    with pytest.raises(Conflict, match="closed") as refused:
        client.ask("shop")
    assert refused.value.code == "campaign-closed"


def test_pages_are_followed_to_their_end(client):
    for name in ("a", "b", "c"):
        client.create(name, PROBLEM)
    client.ask("a", count=7)
    client.ask("a", count=4)
    assert [entry["round"] for entry in client.rounds("a", page=3)] == list(range(1, 12))
    assert [entry["round"] for entry in client.rounds("a", after=9, page=1)] == [10, 11]
    assert [entry["id"] for entry in client.campaigns(page=2)] == ["a", "b", "c"]
    whole = [event["seq"] for event in client.events("a")]
    assert whole == sorted(whole) and [event["seq"] for event in client.events("a", page=1)] == whole and len(whole) == 3


def test_many_reports_are_split_into_requests(client, monkeypatch):
    client.create("shop", PROBLEM)
    client.ask("shop", count=10)
    monkeypatch.setattr(outlay.client, "BULK_LINES", 4)
    reports = [(number, {"search": 1.0, "social": False}) for number in range(1, 11)]
    reports.insert(5, (77, {"search": 1.0}))
    reported = client.tell_many("shop", reports)
    assert (reported["accepted"], reported["duplicate"], reported["late"]) == (20, 0, 0)
    assert [(line["line"], line["code"]) for line in reported["refused"]] == [(6, "no-round")]
    again = client.tell_many("shop", ({"round": number, "results": {"search": 1.0}} for number in range(1, 11)))
    assert (again["accepted"], again["duplicate"]) == (0, 10)


def test_bulk_requests_stay_within_the_limits_of_the_service():
    lengths = [len(lines) for lines in bulks((number, {"a": False}) for number in range(25_000))]
    assert lengths == [BULK_LINES, BULK_LINES, 5_000]
    sizes = [sum(map(len, lines)) for lines in bulks((number, {"a" * 9_000: 1.0}) for number in range(300))]
    assert max(sizes) <= 1_000_000 and len(sizes) == 4


def test_numpy_values_are_accepted(client):
    client.create("shop", PROBLEM)
    client.ask("shop")
    client.tell("shop", np.int64(1), {"search": np.float64(14.5), "social": np.array([False])[0]})
    (reported,) = client.rounds("shop")
    assert [(task["completed"], task.get("reward")) for task in reported["tasks"]] == [(True, pytest.approx(14.5, abs=1e-6)), (False, None)]


def test_counts_and_actual_spends_are_reported_and_corrected(client):
    client.create("daily", DAILY)
    client.ask("daily", count=3)
    first = {"search": {"completions": np.int64(24), "reward": np.float64(610.5), "spend": 48}, "social": {"completions": 0}}
    assert client.tell("daily", 1, first)["accepted"] == 2
    assert client.tell("daily", 1, [{"task": "social", "completions": 0}])["duplicate"] == 1
    many = client.tell_many("daily", [(2, {"search": {"completions": 3, "reward": 60}}), (3, {"social": {"completions": 2, "reward": 100.5}})])
    assert (many["accepted"], [line["line"] for line in many["refused"]]) == (1, [2])
    assert "2 times reward_max 50" in many["refused"][0]["detail"]
    # A report without the spend repeats the outcome; a different spend contradicts it.
    assert client.tell("daily", 1, {"search": {"completions": 24, "reward": 610.5}})["duplicate"] == 1
    with pytest.raises(Conflict) as refused:
        client.tell("daily", 1, {"search": {"completions": 24, "reward": 610.5, "spend": 49}})
    assert refused.value.stored == {"task": "search", "completions": 24, "reward": 610.5, "spend": 48.0}
    corrected = client.correct("daily", 1, "search", completions=20, reward=500, spend=np.float64(40), why="returned goods")
    assert corrected["to"] == {"task": "search", "completions": 20, "reward": 500.0, "spend": 40.0}
    search, social = client.get("daily")["tasks"]
    assert (search["told"], search["completions"], search["reward_sum"], search["spent"]) == (2, 23, 560.0, 40.0)
    assert (social["told"], social["completions"], "spent" in social) == (1, 0, False)
    # Without a spend, the correction removes it.
    assert "spend" not in client.correct("daily", 1, "search", completions=20, reward=500, why="spend unknown")["to"]
    for outcome in ({}, {"completed": True, "completions": 1, "reward": 3}, {"completions": 2, "reward": 101}):
        with pytest.raises(BadRequest):
            client.correct("daily", 1, "search", why="wrong", **outcome)
    assert client.get("daily")["tasks"][0]["completions"] == 23
    with pytest.raises(TypeError, match="ndarray"):
        client.tell("daily", 1, {"search": {"completions": np.array([24, 25])}})


def test_a_batch_of_completions_counts_as_its_single_reports(client):
    for campaign in ("batch", "single"):
        client.create(campaign, DAILY)
        client.ask(campaign, count=3)
    client.tell("batch", 1, {"search": {"completions": 3, "reward": 61.5}})
    client.tell_many("single", [(number, {"search": {"completions": 1, "reward": 20.5}}) for number in (1, 2, 3)])
    batch, single = (client.get(campaign)["tasks"][0] for campaign in ("batch", "single"))
    assert {key: batch[key] for key in ("completions", "reward_sum", "index")} == {key: single[key] for key in ("completions", "reward_sum", "index")}


def test_a_campaign_starts_from_a_log_unless_it_is_ignored(client):
    tasks = [{**task, "seen": {"completions": 40, "reward": 800}} for task in DAILY["task"]]
    problem = {**DAILY, "task": tasks}
    indices = {}
    for campaign, choice in (("default", None), ("seen", False), ("ignored", True)):
        state = client.create(campaign, problem, ignore_seen=choice)
        assert ("seen" in state["tasks"][0]) is (choice is not True)
        indices[campaign] = state["tasks"][0]["index"]
    assert indices["default"] == indices["seen"] < indices["ignored"] == 50
    assert client.create("ignored", problem)["tasks"][0]["index"] == 50
    with pytest.raises(Conflict):
        client.create("ignored", problem, ignore_seen=False)


def test_a_key_returns_the_same_rounds_and_no_key_new_ones(client, service):
    client.create("shop", PROBLEM)
    assert client.ask("shop", count=2, key="hour-1")["rounds"] == [1, 2]
    with Client(service.url) as other:
        assert other.ask("shop", count=2, key="hour-1")["rounds"] == [1, 2]
    assert [client.ask("shop")["rounds"] for _ in range(2)] == [[3], [4]]
    with pytest.raises(BadRequest) as refused:
        client.ask("shop", count=3, key="hour-1")
    assert refused.value.code == "key-reused"


def test_states_carry_their_version(client):
    state = client.create("shop", PROBLEM)
    assert state.etag and client.get("shop", known=state) is state
    client.ask("shop")
    newer = client.get("shop", known=state)
    assert newer is not state and newer["rounds"] == 1
    paused = client.pause("shop", seen=newer)
    assert (paused["status"], paused["version"]) == ("paused", 2)
    with pytest.raises(VersionMoved) as refused:
        client.close_campaign("shop", seen=newer)
    assert (refused.value.status, refused.value.code) == (412, "version-moved")
    assert client.pause("shop")["version"] == 2
    assert client.resume("shop")["status"] == "open"


def test_allocate_needs_no_campaign(client):
    split = client.allocate(PROBLEM, values={"search": 15, "social": 13}, budget=20)
    assert split["status"] == "optimal" and sum(task["spend"] for task in split["tasks"]) == pytest.approx(20, rel=1e-12)


def test_refusals_have_a_type_and_a_reason(client):
    client.create("shop", PROBLEM)
    client.ask("shop")
    client.tell("shop", 1, {"search": 14.5})
    with pytest.raises(NotFound, match="nowhere") as refused:
        client.ask("nowhere")
    assert (refused.value.status, refused.value.code) == (404, "no-campaign") and refused.value.request_id
    with pytest.raises(NotFound) as refused:
        client.tell("shop", 9, {"search": 1.0})
    assert refused.value.code == "no-round"
    with pytest.raises(Conflict, match="search") as refused:
        client.tell("shop", 1, {"search": 3.0})
    assert refused.value.code == "conflict" and refused.value.stored["reward"] == pytest.approx(14.5, abs=1e-6)
    with pytest.raises(Conflict) as refused:
        client.create("shop", {**PROBLEM, "budget": 41})
    assert refused.value.code == "campaign-exists"
    wrong = {"budget": 40, "task": [{"name": "a", "curve": {"family": "hill", "half_att": 1, "steepness": 2}}]}
    with pytest.raises(BadRequest, match="half_at") as refused:
        client.create("wrong", wrong)
    assert refused.value.code == "bad-problem" and any("/problem/task/0/curve" in str(fault) for fault in refused.value.errors)
    with pytest.raises(BadRequest):
        client.ask("shop", count=100_000)
    copy = pickle.loads(pickle.dumps(refused.value))
    assert (type(copy), str(copy), copy.code) == (type(refused.value), str(refused.value), refused.value.code)


def test_names_cannot_reach_other_addresses(client):
    with pytest.raises(ServiceError) as refused:
        client.get("../../metrics")
    assert refused.value.status in (400, 404) and refused.value.code != "no-route"


def test_invalid_requests_are_rejected_before_sending(client):
    client.create("shop", PROBLEM)
    with pytest.raises(ValueError, match="leave it out"):
        client.tell("shop", 1, {"search": None})
    with pytest.raises(ValueError, match="nan and inf"):
        client.ask("shop", budget=float("nan"))
    with pytest.raises(ValueError, match="list of tasks"):
        client.ask("shop", without="social")
    with pytest.raises(TypeError, match="keys of a problem file"):
        client.create("other", 3)
    for url in ("127.0.0.1:7341", "ftp://host", "http://", "http://user@host", "http://host?x=1"):
        with pytest.raises(ValueError, match="url"):
            Client(url)
    with pytest.raises(ValueError, match="retries"):
        Client("http://host", retries=-1)


def test_tokens(service):
    admin, reader = service.token("admin"), service.token("read")
    with Client(service.url) as nobody, pytest.raises(Unauthorised) as refused:
        nobody.get("shop")
    assert refused.value.code == "unauthorised" and "Bearer" in refused.value.hint
    with Client(service.url, token="outlay_no_good") as stranger, pytest.raises(Unauthorised):
        next(stranger.campaigns())
    with Client(service.url, token=admin) as owner, Client(service.url, token=reader) as looker:
        owner.create("shop", PROBLEM)
        assert looker.get("shop")["status"] == "open"
        with pytest.raises(Forbidden) as refused:
            looker.ask("shop")
        assert refused.value.code == "forbidden"
        assert admin not in repr(owner)


def test_requests_survive_a_restart_of_the_service(service):
    with Client(service.url, retries=10) as client:
        client.create("shop", PROBLEM)
        assert client.ask("shop", count=2)["rounds"] == [1, 2]
        service.kill()
        starter = threading.Timer(1.0, service.start)
        starter.start()
        assert client.tell("shop", 1, {"search": 14.5}) == {"accepted": 1, "duplicate": 0, "late": 0}
        starter.join()
        assert client.ask("shop")["rounds"] == [3]


def test_a_lost_answer_costs_no_round(client, monkeypatch):
    """The connection breaks after the request has arrived: the second attempt must return the rounds of
    the first."""
    client.create("shop", PROBLEM)
    real, lost = Client._once, []

    def lossy(self, method, *request, **how):
        answer = real(self, method, *request, **how)
        if method == "POST" and not lost:
            lost.append(answer)
            raise ConnectionResetError("the answer was lost")
        return answer

    monkeypatch.setattr(Client, "_once", lossy)
    assert client.ask("shop", count=2)["rounds"] == [1, 2] and len(lost) == 1
    assert client.get("shop")["rounds"] == 2


def test_requests_that_are_not_idempotent_are_not_repeated(client, monkeypatch):
    client.create("shop", PROBLEM)
    client.ask("shop")
    client.tell("shop", 1, {"search": 14.5})
    real = Client._once

    def lossy(self, *request, **how):
        real(self, *request, **how)
        raise ConnectionResetError("the answer was lost")

    monkeypatch.setattr(Client, "_once", lossy)
    with pytest.raises(Unreachable, match="look before you send it again") as broken:
        client.correct("shop", 1, "search", completed=True, reward=15, why="returned goods")
    assert not broken.value.is_repeatable
    monkeypatch.setattr(Client, "_once", real)
    assert [event["kind"] for event in client.events("shop")].count("corrected") == 1


def test_an_unreachable_service_is_reported():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with Client(url, retries=2) as client, pytest.raises(Unreachable, match="is it running") as broken:
        client.get("shop")
    assert url in str(broken.value) and isinstance(broken.value, ConnectionError)


def test_a_service_that_does_not_answer_times_out():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Client(url, timeout=0.2, retries=1) as client, pytest.raises(Unreachable):
            client.get("shop")


def test_connections_are_kept_and_reopened_when_closed(client):
    client.create("shop", PROBLEM)
    kept = client._idle[-1]
    client.get("shop")
    assert client._idle == [kept]
    kept.sock.shutdown(socket.SHUT_RDWR)
    assert client.get("shop")["rounds"] == 0


def test_unrepeatable_requests_use_a_new_connection(client):
    client.create("shop", PROBLEM)
    client.ask("shop")
    client.tell("shop", 1, {"search": 14.5})
    client._idle[-1].sock.shutdown(socket.SHUT_RDWR)
    assert client.correct("shop", 1, "search", completed=False, why="returned goods")["to"]["completed"] is False


def test_threads_share_a_client(client):
    client.create("shop", PROBLEM)

    def work(_):
        number = client.ask("shop")["rounds"][0]
        client.tell("shop", number, {"search": 10.0, "social": False})
        return number

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(work, range(64)))
    assert sorted(numbers) == list(range(1, 65)) and client.get("shop")["tasks"][0]["told"] == 64
    assert len(client._idle) <= 8


def test_other_servers_are_reported():
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>welcome</html>")

        def log_message(self, *words):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with Client(f"http://127.0.0.1:{server.server_port}") as client, pytest.raises(ServiceError, match="is there an outlay service"):
            client.get("shop")


def test_errors_without_problem_json_are_errors():
    assert str(error_of(502, b"<html>bad gateway</html>")) == "the service answered with status 502"
    assert type(error_of(502, b"[1]")) is Unavailable and type(error_of(429, b"{}")) is TooMany


def test_tls(program, tmp_path, monkeypatch):
    key, certificate = DATA / "localhost-key.pem", DATA / "localhost.pem"
    service = Service(program, tmp_path / "data", "--tls-cert", str(certificate), "--tls-key", str(key))
    real, attempts = Client._once, []

    def counted(self, *request, **how):
        attempts.append(request)
        return real(self, *request, **how)

    try:
        assert service.url.startswith("https://")
        with Client(service.url, context=ssl.create_default_context(cafile=str(certificate))) as client:
            assert client.create("shop", PROBLEM)["status"] == "open"
        monkeypatch.setattr(Client, "_once", counted)
        with Client(service.url) as stranger, pytest.raises(Unreachable, match="certificate"):
            stranger.get("shop")
        # An untrusted certificate is not retried.
        assert len(attempts) == 1
    finally:
        service.kill()


def test_a_campaign_is_deleted(client):
    seen = client.create("shop", PROBLEM)
    with pytest.raises(Conflict) as refused:
        client.delete("shop")
    assert refused.value.code == "campaign-not-closed"
    client.close_campaign("shop")
    with pytest.raises(VersionMoved):
        client.delete("shop", seen=seen)
    client.delete("shop", seen=client.get("shop"))
    with pytest.raises(NotFound):
        client.get("shop")
    client.create("shop", PROBLEM)
    client.delete("shop", force=True)
    assert list(client.campaigns()) == []


def test_events_are_streamed_until_the_campaign_is_deleted(client):
    client.create("shop", PROBLEM)
    stream = client.stream("shop", after=0)
    assert next(stream)["kind"] == "created"
    client.ask("shop")
    asked = next(stream)
    assert (asked["kind"], asked["rounds"]) == ("asked", [1])
    client.tell("shop", 1, {"search": 14.5})
    # Another stream continues from this position.
    assert next(client.stream("shop", after=asked["seq"]))["kind"] == "told"
    client.delete("shop", force=True)
    assert [event["kind"] for event in stream] == ["told"]
    with pytest.raises(NotFound):
        next(client.stream("shop"))
