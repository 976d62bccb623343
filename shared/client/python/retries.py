"""A client that repeats requests after temporary failures."""

import asyncio
import random
import time
import uuid
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from attrs import define

from . import client

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
    if response.is_success:
        return False
    try:
        return response.json()["error"]["status"] in TEMPORARY
    except (ValueError, KeyError, TypeError, httpx.ResponseNotRead):
        return response.status_code == 429 or response.status_code >= 500


class _Attempts:
    """The attempts at one request. Each runs in a with statement, which sets wait."""

    response: httpx.Response
    wait: float | None = None  # seconds until the next attempt; None if there is none

    def __init__(self, request: httpx.Request) -> None:
        self._end = time.monotonic() + LIMIT
        self._made = 0
        if not request.url.path.endswith("/get"):
            request.headers.setdefault(KEY, uuid.uuid4().hex)

    def __enter__(self) -> None:
        self._made += 1

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """Suppress an error if there is another attempt."""
        if error is None:
            again, after = _temporary(self.response), _after(self.response)
        else:
            again, after = isinstance(error, httpx.TransportError), 0.0
        self.wait = self._next(after) if again else None
        return self.wait is not None

    def _next(self, after: float) -> float | None:
        wait = after + random.uniform(0, min(FIRST_DELAY * 2 ** (self._made - 1), LAST_DELAY))
        ends = self._made == ATTEMPTS or time.monotonic() + wait >= self._end
        return None if ends else wait


class _Sync(httpx.Client):
    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        attempts = _Attempts(request)
        while True:
            with attempts:
                attempts.response = super().send(request, **options)
            if attempts.wait is None:
                return attempts.response
            time.sleep(attempts.wait)


class _Async(httpx.AsyncClient):
    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        attempts = _Attempts(request)
        while True:
            with attempts:
                attempts.response = await super().send(request, **options)
            if attempts.wait is None:
                return attempts.response
            await asyncio.sleep(attempts.wait)


@define
class Client(client.Client):
    """A client that repeats a request after a temporary failure or no response.

    It waits for the time in Retry-After plus a random time that grows. After five attempts, or if
    the next would begin after a minute, it returns or raises the failure. All attempts at a change
    have the same Idempotency-Key, so that it happens once.
    """

    def _arguments(self) -> dict[str, Any]:
        return {
            "base_url": self._base_url,
            "cookies": self._cookies,
            "headers": self._headers,
            "timeout": self._timeout,
            "verify": self._verify_ssl,
            "follow_redirects": self._follow_redirects,
            **self._httpx_args,
        }

    def get_httpx_client(self) -> httpx.Client:
        """Get the httpx.Client, constructing a new one if not previously set"""
        if self._client is None:
            self._client = _Sync(**self._arguments())
        return self._client

    def get_async_httpx_client(self) -> httpx.AsyncClient:
        """Get the httpx.AsyncClient, constructing a new one if not previously set"""
        if self._async_client is None:
            self._async_client = _Async(**self._arguments())
        return self._async_client
