"""Clients of httpx that repeat requests after temporary failures."""

import asyncio
import random
import time
import uuid
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

ATTEMPTS = 5  # at a request, including the first
LIMIT = 60.0  # seconds of all attempts and waits
FIRST_DELAY = 0.2  # maximum seconds before the second attempt; doubles each time
LAST_DELAY = 10.0  # maximum seconds, unless Retry-After asks for more
KEY = "Idempotency-Key"
TEMPORARY = {"UNAVAILABLE", "ABORTED", "RESOURCE_EXHAUSTED", "INTERNAL", "DEADLINE_EXCEEDED"}


def _after(response: httpx.Response) -> float:
    """Return the seconds in Retry-After, or 0."""
    value = response.headers.get("Retry-After", "")
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _temporary(response: httpx.Response) -> bool:
    """Return whether the same request may succeed later. A gateway's response has no code."""
    try:
        return response.json()["error"]["status"] in TEMPORARY
    except (ValueError, KeyError, TypeError, httpx.ResponseNotRead):
        return response.status_code == 429 or response.status_code >= 500


class _Attempts:
    """The attempts at one request."""

    def __init__(self, request: httpx.Request) -> None:
        self._end = time.monotonic() + LIMIT
        self._failed = 0
        if not request.url.path.endswith("/get"):
            request.headers.setdefault(KEY, uuid.uuid4().hex)

    def wait(self, response: httpx.Response | None) -> float | None:
        """Return the seconds to wait after a failure, or None if it is the last one."""
        self._failed += 1
        if response is not None and not _temporary(response):
            return None
        most = min(FIRST_DELAY * 2 ** (self._failed - 1), LAST_DELAY)
        wait = (0.0 if response is None else _after(response)) + random.uniform(0, most)
        ends = self._failed == ATTEMPTS or time.monotonic() + wait >= self._end
        return None if ends else wait


class Client(httpx.Client):
    """An httpx.Client that repeats a request after a temporary failure or no response.

    It waits for the time in Retry-After plus a random time that grows. After five attempts, or if
    the next would begin after a minute, it returns or raises the failure. All attempts at a change
    have the same Idempotency-Key, so that it happens once.
    """

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        attempts = _Attempts(request)
        while True:
            try:
                response = super().send(request, **options)
            except httpx.TransportError:
                if (wait := attempts.wait(None)) is None:
                    raise
            else:
                if response.is_success or (wait := attempts.wait(response)) is None:
                    return response
            time.sleep(wait)


class AsyncClient(httpx.AsyncClient):
    """An httpx.AsyncClient that repeats requests as Client does."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        attempts = _Attempts(request)
        while True:
            try:
                response = await super().send(request, **options)
            except httpx.TransportError:
                if (wait := attempts.wait(None)) is None:
                    raise
            else:
                if response.is_success or (wait := attempts.wait(response)) is None:
                    return response
            await asyncio.sleep(wait)
