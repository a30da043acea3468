"""A client for ``outlay serve``: request rounds and report their outcomes. Only the standard library is needed.

Names and answers are those of the API (``docs/reference/http-api.md``): a JSON object is a ``dict`` with the same keys.

>>> from outlay.client import Client
>>> client = Client("http://127.0.0.1:7341")                             # doctest: +SKIP
>>> problem = {
...     "budget": 40, "reward_max": 30,
...     "task": [
...         {"name": "search", "curve": {"family": "exponential", "scale": 9}},
...         {"name": "social", "curve": {"family": "hill", "half_at": 11, "steepness": 3}},
...     ],
... }
>>> client.create("shop", problem)["status"]
'open'
>>> asked = client.ask("shop", count=2)
>>> asked["rounds"]
[1, 2]
>>> client.tell("shop", 1, {"search": 14.5, "social": False})            # False: it did not succeed
{'accepted': 2, 'duplicate': 0, 'late': 0}
>>> client.tell_many("shop", [(2, {"social": 9.0})])["accepted"]
1
>>> [entry["status"] for entry in client.rounds("shop")]
['complete', 'open']
>>> client.close()
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Union
from urllib.parse import quote, urlencode, urlsplit

from .service_errors import ServiceError, Unreachable, VersionMoved, error_of

Json = dict[str, Any]
Results = Union[Mapping[str, Any], Iterable[Mapping[str, Any]]]

# Limits of one bulk report: lines, and bytes of the body (with a margin for proxies).
BULK_LINES = 10_000
BULK_BYTES = 900_000
# Requests with these statuses are repeated: the service was overloaded or the request was too slow.
WORTH_ANOTHER_TRY = (408, 503)
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


class CampaignState(dict[str, Any]):
    """The state of a campaign: the keys of the answer, and its version ``etag``."""

    etag: str = ""


class Client:
    """A client for the service.

    Requests that may be sent twice are repeated with growing pauses if the service is unavailable or overloaded: all but corrections, and
    changes of a campaign in a given state. Asks carry an ``Idempotency-Key``, so no round is issued twice. Several threads can share a
    client. A client cannot be pickled, and it ignores the proxies of the environment.

    Parameters
    ----------
    url : str
        The address, such as ``http://127.0.0.1:7341``.
    token : str, optional
        Sent with every request.
    timeout : float
        Seconds to wait for the service at each step.
    retries : int
        How often a request is repeated.
    context : ssl.SSLContext, optional
        For https.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    The examples of the methods assume a client and a problem with the tasks search and social:

    >>> client = Client("http://127.0.0.1:7341")                         # doctest: +SKIP
    >>> problem = {
    ...     "budget": 40, "reward_max": 30,
    ...     "task": [
    ...         {"name": "search", "curve": {"family": "exponential", "scale": 9}},
    ...         {"name": "social", "curve": {"family": "hill", "half_at": 11, "steepness": 3}},
    ...     ],
    ... }
    >>> with client:
    ...     client.create("first", problem)["status"]
    'open'
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 6, context: ssl.SSLContext | None = None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: `{url}` is no address of a service: write it as http://127.0.0.1:7341 or https://host")
        if parts.query or parts.fragment or parts.username:
            raise ValueError(f"url: `{parts.scheme}://{parts.hostname}` may be followed by a port and a path only")
        if retries < 0:
            raise ValueError(f"retries: must be at least 0, not {retries}")
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._token, self._timeout, self._retries = token, timeout, retries
        self._idle: list[http.client.HTTPConnection] = []
        self._guard = threading.Lock()
        self.url = url

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the idle connections. The client can still be used; it opens new ones.

        Examples
        --------
        >>> client.close()
        """
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # Campaigns

    def create(
        self,
        campaign: str,
        problem: Any,
        *,
        learner: str | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        expiry_seconds: int | None = None,
        guards: Mapping[str, Any] | None = None,
        ignore_seen: bool | None = None,
    ) -> CampaignState:
        """Creates a campaign under an id of your choice. Repeating the call changes nothing; another problem under the same id is an error.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        problem : Problem or mapping
            The problem, or its keys as in a problem file.
        learner, horizon, seed : optional
            As in `Learner`.
        expiry_seconds : int, optional
            How long a round stays open.
        guards : mapping, optional
            Guards, such as ``{"max_change": 5}``.
        ignore_seen : bool, optional
            Whether to start without the completions that tasks have ``seen``; by default the learner starts as if it had observed them.

        Returns
        -------
        CampaignState
            The campaign.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> client.create("create", problem, learner="thompson", seed=7)["status"]
        'open'
        """
        options = {
            "learner": learner, "horizon": horizon, "seed": seed, "expiry_seconds": expiry_seconds, "guards": guards, "ignore_seen": ignore_seen,
        }
        body = {"problem": document(problem), **{key: value for key, value in options.items() if value is not None}}
        return self._state("PUT", self._campaign(campaign), body)

    def get(self, campaign: str, known: CampaignState | None = None) -> CampaignState:
        """The state of a campaign.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        known : CampaignState, optional
            An earlier answer, which is returned if nothing has changed since.

        Returns
        -------
        CampaignState
            The campaign.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> state = client.create("get", problem)
        >>> client.get("get", known=state) is state
        True
        """
        headers = {"if-none-match": known.etag} if known is not None else {}
        return self._state("GET", self._campaign(campaign), headers=headers, known=known)

    def campaigns(self, page: int = 1000) -> Iterator[Json]:
        """All campaigns, in the order of their ids.

        Parameters
        ----------
        page : int
            The number of entries per request.

        Returns
        -------
        iterator of dict
            One entry per campaign.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("campaigns", problem)
        >>> "campaigns" in [campaign["id"] for campaign in client.campaigns()]
        True
        """
        return self._pages("/v1/campaigns", "campaigns", None, page)

    def amend(self, campaign: str, problem: Any, seen: CampaignState | None = None) -> CampaignState:
        """Replaces the problem of a campaign, and keeps what was learned.

        Tasks are matched by name: those that the new problem lacks are retired, and new ones are added. Repeating the call changes nothing.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        problem : Problem or mapping
            The whole new problem, or its keys as in a problem file.
        seen : CampaignState, optional
            Change the campaign only if its status and problem are still those of this state.

        Returns
        -------
        CampaignState
            The campaign. Retired tasks have ``retired``.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached; `VersionMoved` if the campaign has changed since ``seen``.

        Examples
        --------
        >>> _ = client.create("amend", problem)
        >>> video = {"name": "video", "curve": {"family": "exponential", "scale": 9}}
        >>> state = client.amend("amend", {**problem, "task": [*problem["task"][1:], video]})
        >>> [(task["task"], task.get("retired", False)) for task in state["tasks"]]
        [('search', True), ('social', False), ('video', False)]
        """
        headers = {"if-match": "*" if seen is None else seen.etag}
        return self._state("PUT", f"{self._campaign(campaign)}/problem", {"problem": document(problem)}, headers=headers)

    def pause(self, campaign: str, seen: CampaignState | None = None) -> CampaignState:
        """Pauses a campaign: it issues no rounds until it is resumed.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        seen : CampaignState, optional
            Change the campaign only if it is still in this state.

        Returns
        -------
        CampaignState
            The campaign.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("pause", problem)
        >>> client.pause("pause")["status"]
        'paused'
        """
        return self._change(campaign, "paused", seen)

    def resume(self, campaign: str, seen: CampaignState | None = None) -> CampaignState:
        """Resumes a campaign.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        seen : CampaignState, optional
            Change the campaign only if it is still in this state.

        Returns
        -------
        CampaignState
            The campaign.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("resume", problem), client.pause("resume")
        >>> client.resume("resume")["status"]
        'open'
        """
        return self._change(campaign, "open", seen)

    def close_campaign(self, campaign: str, seen: CampaignState | None = None) -> CampaignState:
        """Closes a campaign. It accepts outcomes for another week.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        seen : CampaignState, optional
            Change the campaign only if it is still in this state.

        Returns
        -------
        CampaignState
            The campaign.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("close", problem)
        >>> client.close_campaign("close")["status"]
        'closed'
        """
        return self._change(campaign, "closed", seen)

    def delete(self, campaign: str, seen: CampaignState | None = None, *, force: bool = False) -> None:
        """Deletes a campaign with its rounds and outcomes. This cannot be undone; the id is free again.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        seen : CampaignState, optional
            Delete the campaign only if it is still in this state.
        force : bool
            Delete the campaign even if it is not closed.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("delete", problem)
        >>> client.delete("delete", force=True)
        >>> "delete" in [campaign["id"] for campaign in client.campaigns()]
        False
        """
        address = self._campaign(campaign) + ("?force=true" if force else "")
        self._request("DELETE", address, headers={"if-match": "*" if seen is None else seen.etag}, repeatable=False)

    def curves(
        self, campaign: str, points: int = 101, *, task: str | None = None, up_to: float | None = None
    ) -> list[Json]:
        """The curves of the tasks as points to draw.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        points : int
            The number of points.
        task : str, optional
            Only this task.
        up_to : float, optional
            The largest spend; by default the budget.

        Returns
        -------
        list of dict
            One curve per task.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("curves", problem)
        >>> [curve["task"] for curve in client.curves("curves", points=3)]
        ['search', 'social']
        """
        path = f"{self._campaign(campaign)}/curves?points={points}"
        path += "" if task is None else f"&task={quote(task, safe='')}"
        path += "" if up_to is None else f"&up_to={up_to!r}"
        answer: list[Json] = self._json("GET", path)["curves"]
        return answer

    # Rounds

    def ask(
        self,
        campaign: str,
        count: int = 1,
        *,
        budget: float | None = None,
        without: Iterable[str] = (),
        scale: Mapping[str, float] | None = None,
        volume: Mapping[str, float] | None = None,
        key: str | None = None,
    ) -> Json:
        """Asks for rounds, all with the same allocation.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        count : int
            The number of rounds.
        budget : float, optional
            The budget of these rounds; by default that of the problem.
        without : iterable of str
            Tasks that are not available in these rounds.
        scale, volume : mapping, optional
            The scales of curves and the volumes of tasks in these rounds, by task; the others have scale 1 and the volume of the problem.
        key : str, optional
            Calls with the same key get the same rounds for a day, also from other processes.

        Returns
        -------
        dict
            ``rounds``, ``budget``, and ``tasks`` with the ``spend`` of each, and its ``scale`` and ``volume`` if they were given.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("ask", problem)
        >>> client.ask("ask", budget=20, without=["social"])["tasks"]
        [{'task': 'search', 'spend': 20.0}]
        >>> client.ask("ask", scale={"social": 1.3})["tasks"][1]["scale"]
        1.3
        """
        if isinstance(without, str):
            raise ValueError(f"without: must be a list of tasks, not the text `{without}`")
        body: Json = {"count": count, "without": list(without), **of_round(scale, volume)}
        if budget is not None:
            body["budget"] = budget
        headers = {"idempotency-key": key or uuid.uuid4().hex}
        return self._json("POST", f"{self._campaign(campaign)}/rounds", body, headers=headers)

    def tell(self, campaign: str, round: int, results: Results) -> Json:
        """Reports the outcomes of a round.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        round : int
            The round.
        results : mapping or list
            From tasks to rewards, with False for a task that failed: ``{"search": 14.5, "social": False}``. If the problem has volumes,
            from tasks to counts: ``{"search": {"completions": 24, "reward": 410.5}}``, where the reward is the sum. The amount that was
            really spent may be added: ``{"search": {"completed": True, "reward": 14.5, "spend": 17}}``. Or a list of outcomes with the
            keys of the API. Omit tasks whose outcome is unknown.

        Returns
        -------
        dict
            The numbers of ``accepted``, ``duplicate`` and ``late`` outcomes.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("tell", problem), client.ask("tell")
        >>> client.tell("tell", 1, {"search": 14.5, "social": False})
        {'accepted': 2, 'duplicate': 0, 'late': 0}

        Counts, with the actual spend of one task:

        >>> tasks = [{**task, "volume": 40} for task in problem["task"]]
        >>> _ = client.create("counts", {**problem, "task": tasks}), client.ask("counts")
        >>> client.tell("counts", 1, {"search": {"completions": 24, "reward": 410.5, "spend": 17}, "social": {"completions": 0}})
        {'accepted': 2, 'duplicate': 0, 'late': 0}
        >>> client.get("counts")["tasks"][0]["completions"]
        24
        """
        return self._json("PUT", f"{self._campaign(campaign)}/rounds/{int(round)}/feedback", {"results": outcomes(results)})

    def tell_many(self, campaign: str, reports: Iterable[tuple[int, Results] | Mapping[str, Any]]) -> Json:
        """Reports the outcomes of many rounds, in as few requests as the limits of the service allow. If the call fails, repeat it: an outcome counts once.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        reports : iterable
            Pairs of a round and its results, as in `tell`.

        Returns
        -------
        dict
            The numbers of outcomes, and ``refused``: the rejected reports, counted from 1.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("many", problem), client.ask("many", count=2)
        >>> client.tell_many("many", [(1, {"search": 14.5}), (2, {"search": False})])["accepted"]
        2
        """
        told: Json = {"accepted": 0, "duplicate": 0, "late": 0, "refused": []}
        before = 0
        for lines in bulks(reports):
            content = "".join(lines).encode()
            answer = self._json("POST", f"{self._campaign(campaign)}/feedback", content, kind="application/x-ndjson")
            for count in ("accepted", "duplicate", "late"):
                told[count] += answer[count]
            if "clipped" in answer:
                told["clipped"] = told.get("clipped", 0) + answer["clipped"]
            told["refused"] += [{**line, "line": line["line"] + before} for line in answer["refused"]]
            before += len(lines)
        return told

    def correct(
        self,
        campaign: str,
        round: int,
        task: str,
        *,
        why: str,
        completed: bool | None = None,
        completions: int | None = None,
        reward: float | None = None,
        spend: float | None = None,
    ) -> Json:
        """Corrects a reported outcome; both stay on record. Needs the scope ``admin``. The request is never repeated automatically.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        round : int
            The round.
        task : str
            The task.
        why : str
            The reason.
        completed : bool, optional
            Whether the task completed. Either this or ``completions`` is needed.
        completions : int, optional
            The number of completions.
        reward : float, optional
            The reward; of several completions the sum.
        spend : float, optional
            The amount that was really spent. A correction without it removes an earlier one.

        Returns
        -------
        dict
            The correction.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("correct", problem), client.ask("correct"), client.tell("correct", 1, {"search": 14.5})
        >>> client.correct("correct", 1, "search", completed=False, why="order cancelled")["to"]["completed"]
        False
        """
        outcome = {"completed": completed, "completions": completions, "reward": reward, "spend": spend}
        body: Json = {"task": task, "why": why, **{key: value for key, value in outcome.items() if value is not None}}
        return self._json("POST", f"{self._campaign(campaign)}/rounds/{int(round)}/corrections", body, repeatable=False)

    def rounds(self, campaign: str, after: int = 0, page: int = 1000) -> Iterator[Json]:
        """The rounds of a campaign with their outcomes, in order.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        after : int
            Start after this round.
        page : int
            The number of entries per request.

        Returns
        -------
        iterator of dict
            One entry per round.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("rounds", problem), client.ask("rounds")
        >>> [entry["status"] for entry in client.rounds("rounds")]
        ['open']
        """
        return self._pages(f"{self._campaign(campaign)}/rounds", "rounds", after, page)

    def events(self, campaign: str, after: int = 0, page: int = 1000) -> Iterator[Json]:
        """The events of a campaign, in order.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        after : int
            Start after this event.
        page : int
            The number of entries per request.

        Returns
        -------
        iterator of dict
            One entry per event.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("events", problem), client.ask("events")
        >>> len(list(client.events("events"))) > 1
        True
        """
        return self._pages(f"{self._campaign(campaign)}/events", "events", after, page)

    def stream(self, campaign: str, after: int | None = None) -> Iterator[Json]:
        """Events as they happen. The iterator waits for the next one and ends when the campaign is deleted.

        After a lost connection it connects again and continues after the last event. If several replicas share a
        database, an event may arrive twice and in another order than that of ``seq``.

        Parameters
        ----------
        campaign : str
            The id of the campaign.
        after : int, optional
            Only events after this one; by default those from now on.

        Returns
        -------
        Iterator of dict
            The events.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> _ = client.create("stream", problem), client.ask("stream")
        >>> next(client.stream("stream", after=0))["seq"] > 0
        True
        """
        last, misses = after, 0
        while True:
            try:
                for event in self._stream(campaign, last):
                    misses = 0
                    if event is None:
                        return
                    last = event["seq"]
                    yield event
            except (OSError, http.client.HTTPException) as error:
                if misses == self._retries:
                    raise Unreachable(self.url, error, True) from error
            except ServiceError as error:
                if misses == self._retries or error.status not in WORTH_ANOTHER_TRY:
                    raise
            misses += 1
            time.sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**misses) * random.uniform(0.5, 1.0))

    def _stream(self, campaign: str, after: int | None) -> Iterator[Json | None]:
        """The events of one connection; ``None`` if the campaign was deleted."""
        sent = {"accept": "text/event-stream"}
        if self._token is not None:
            sent["authorization"] = f"Bearer {self._token}"
        if after is not None:
            sent["last-event-id"] = str(after)
        connection = self._connect()
        try:
            connection.request("GET", f"{self._path}{self._campaign(campaign)}/events/stream", headers=sent)
            response = connection.getresponse()
            if response.status >= 400:
                raise error_of(response.status, response.read())
            kind = ""
            for line in response:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    kind = value
                elif field == "data":
                    yield None if kind == "deleted" else json.loads(value)
        finally:
            connection.close()

    def allocate(
        self,
        problem: Any,
        *,
        values: Mapping[str, float] | None = None,
        budget: float | None = None,
        scale: Mapping[str, float] | None = None,
        volume: Mapping[str, float] | None = None,
    ) -> Json:
        """The best allocation of a budget for known values; needs no campaign.

        Parameters
        ----------
        problem : Problem or mapping
            The problem, or its keys as in a problem file.
        values : mapping, optional
            Values by task.
        budget : float, optional
            By default that of the problem.
        scale, volume : mapping, optional
            Scales of curves and volumes by task; the others have scale 1 and the volume of the problem.

        Returns
        -------
        dict
            The allocation.

        Raises
        ------
        ServiceError
            If the service rejects the request or cannot be reached.

        Examples
        --------
        >>> client.allocate(problem, values={"search": 12, "social": 9})["status"]
        'optimal'
        """
        body: Json = {"problem": document(problem), **of_round(scale, volume)}
        if values is not None:
            body["values"] = dict(values)
        if budget is not None:
            body["budget"] = budget
        return self._json("POST", "/v1/allocate", body)

    # Implementation

    @staticmethod
    def _campaign(campaign: str) -> str:
        return f"/v1/campaigns/{quote(campaign, safe='')}"

    def _change(self, campaign: str, status: str, seen: CampaignState | None) -> CampaignState:
        address, body = self._campaign(campaign), {"status": status}
        if seen is not None:
            return self._state("PATCH", address, body, headers={"if-match": seen.etag}, repeatable=False)
        # No version was given, so repeating the change after a lost response is harmless.
        for attempt in range(self._retries + 1):
            now = self.get(campaign)
            if now["status"] == status:
                return now
            try:
                return self._state("PATCH", address, body, headers={"if-match": now.etag}, repeatable=False)
            except (Unreachable, VersionMoved):
                if attempt == self._retries:
                    raise
        raise AssertionError("the loop ends with a return or an error")

    def _pages(self, address: str, entries: str, after: int | None, page: int) -> Iterator[Json]:
        position: Any = after
        while True:
            query = {"limit": page} if position is None else {"after": position, "limit": page}
            answer = self._json("GET", f"{address}?{urlencode(query)}")
            yield from answer[entries]
            position = answer.get("next")
            if position is None:
                return

    def _json(self, method: str, address: str, body: Any = None, **how: Any) -> Json:
        status, _, content = self._request(method, address, body, **how)
        return read(status, content)

    def _state(self, method: str, address: str, body: Any = None, known: CampaignState | None = None, **how: Any) -> CampaignState:
        status, headers, content = self._request(method, address, body, **how)
        if status == 304 and known is not None:
            return known
        state = CampaignState(read(status, content))
        state.etag = headers.get("etag", "")
        return state

    def _request(
        self,
        method: str,
        address: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        kind: str = "application/json",
        repeatable: bool = True,
    ) -> tuple[int, Mapping[str, str], bytes]:
        sent = {"accept": "application/json", **(headers or {})}
        if self._token is not None:
            sent["authorization"] = f"Bearer {self._token}"
        content = body if body is None or isinstance(body, bytes) else written(body)
        if content is not None:
            sent["content-type"] = kind
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                status, received, answer = self._once(method, self._path + address, content, sent, fresh=not repeatable or attempt > 0)
            except (OSError, http.client.HTTPException) as error:
                # A refused connection transferred nothing, so every request can be repeated.
                is_safe = repeatable or isinstance(error, ConnectionRefusedError)
                if is_last or not is_safe or isinstance(error, ssl.SSLCertVerificationError):
                    raise Unreachable(self.url, error, is_safe) from error
            else:
                if status < 400:
                    return status, received, answer
                if is_last or not repeatable or status not in WORTH_ANOTHER_TRY:
                    raise error_of(status, answer)
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**attempt)
            # Randomised, so that clients of a restarted service do not all return at once.
            time.sleep(pause * random.uniform(0.5, 1.0))
        raise AssertionError("the loop ends with a return or an error")

    def _once(
        self, method: str, address: str, content: bytes | None, headers: Mapping[str, str], fresh: bool
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Sends one request on a kept connection, or on a new one if the service has closed it."""
        connection = self._connect() if fresh else self._kept()
        try:
            connection.request(method, address, content, dict(headers))
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            with self._guard:
                self._idle.append(connection)
        return response.status, {key.lower(): value for key, value in response.getheaders()}, answer

    def _kept(self) -> http.client.HTTPConnection:
        with self._guard:
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)


def document(problem: Any) -> Any:
    """The keys of a problem file, from a mapping or an :class:`outlay.Problem`."""
    if isinstance(problem, Mapping):
        return dict(problem)
    write = getattr(problem, "to_dict", None)
    if write is None:
        raise TypeError(f"problem: must be a Problem or have the keys of a problem file, not {type(problem).__name__}")
    return write()


def of_round(scale: Mapping[str, float] | None, volume: Mapping[str, float] | None) -> Json:
    """Scales and volumes as the API has them."""
    given = {"scale": scale, "volume": volume}
    return {key: dict(numbers) for key, numbers in given.items() if numbers}


def read(status: int, content: bytes) -> Json:
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ServiceError(status, {"detail": f"the answer (status {status}) is no JSON object: is there an outlay service at this url?"})
    return answer


def written(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":"), default=plain).encode()
    except ValueError as error:
        raise ValueError("nan and inf cannot be sent: JSON has finite numbers only") from error


def plain(number: Any) -> Any:
    """Converts a number of numpy to one of Python."""
    if hasattr(number, "item") and getattr(number, "ndim", None) == 0:
        return number.item()
    raise TypeError(f"a {type(number).__name__} cannot be sent as JSON")


def outcomes(results: Results) -> list[Json]:
    """Results in the form of the API, from either form of the argument."""
    if not isinstance(results, Mapping):
        return [dict(result) for result in results]
    told: list[Json] = []
    for task, brought in results.items():
        if brought is None:
            raise ValueError(f"results: `{task}` is None: say False if it did not succeed, and leave it out if you do not know")
        if isinstance(brought, Mapping):
            told.append({"task": task, **brought})
            continue
        # Includes numpy's booleans, which are not `bool` and would count as rewards.
        is_word = isinstance(brought, bool) or getattr(getattr(brought, "dtype", None), "kind", "") == "b"
        told.append({"task": task, "completed": bool(brought)} if is_word else {"task": task, "completed": True, "reward": float(brought)})
    return told


def bulks(reports: Iterable[tuple[int, Results] | Mapping[str, Any]]) -> Iterator[list[str]]:
    """Lines of JSON, in lists that fit into one request."""
    lines: list[str] = []
    size = 0
    for report in reports:
        number, results = (report["round"], report["results"]) if isinstance(report, Mapping) else report
        line = written({"round": int(number), "results": outcomes(results)}).decode() + "\n"
        if lines and (len(lines) == BULK_LINES or size + len(line) > BULK_BYTES):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield lines
