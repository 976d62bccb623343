"""Verification of webhooks."""

from collections.abc import Mapping
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

__all__ = ("WebhookVerificationError", "verify_webhook")


def verify_webhook(secret: str, headers: Mapping[str, str], body: str | bytes) -> dict[str, Any]:
    """Return the event of a webhook, which the service signed within the last five minutes.

    secret is the one in the response that added the endpoint or rotated its secret, and body is the raw body. The event's id is the
    same at every attempt, to detect duplicates. Raise WebhookVerificationError if the signature is not valid: respond with 401.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    try:
        event = Webhook(secret).verify(body, sent)
    except ValueError as e:  # parts of the request or the secret are not encoded as they must be
        raise WebhookVerificationError("the request is not signed") from e
    return {**event, "id": sent["webhook-id"]}
