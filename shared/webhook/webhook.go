// Package webhook posts events to back ends: payloads by event type, signed as in Standard Webhooks 1.0.0, through a client that reaches only
// public addresses and those that the deployment lists, retried on a ladder.
//
// The payloads are described in the reference, the OpenAPI document of package api.
package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	"collabdata/shared/collab"
)

// Message is what is posted to an endpoint about an event.
type Message struct {
	URL     string
	ID      string   // webhook-id: the same at every attempt, and without a full stop
	Secrets []string // at least one; each signs, so that a receiver may know either while secrets rotate
	Body    []byte
}

// Outcome is what an attempt means for what comes next.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "delivered" // a 2xx answer came in time
	Failed    Outcome = "failed"    // anything else: RetryDelay says when to try again
	Gone      Outcome = "gone"      // 410: the endpoint is to be disabled
)

// Attempt is what became of one post of a Message.
type Attempt struct {
	Outcome    Outcome
	Status     int           // HTTP status of the answer, 0 for none
	Reason     string        // why it was not delivered, for the endpoint's owner: names no address and no resolver; "" when it was
	RetryAfter time.Duration // how long the endpoint asked to be left alone, at most MaxRetryAfter; 0 when it did not
	Answer     string        // the beginning of what the endpoint answered where it failed, as collab.Legible shows it
	Err        error         // the cause where there was no answer, for the log
}

// Deliver posts a message once, signed for the time at. It fails where that is not for the endpoint to answer for: the context ended (the
// error wraps its cause), or a secret is malformed.
func (c *Client) Deliver(ctx context.Context, at time.Time, m Message) (Attempt, error) {
	header, err := sign(m.ID, at, m.Body, m.Secrets)
	if err != nil {
		return Attempt{}, err
	}
	answer, err := c.Post(ctx, m.URL, header, m.Body)
	if post, ok := errors.AsType[*PostError](err); ok {
		return Attempt{Outcome: Failed, Reason: post.Reason, Err: post.Err}, nil
	}
	if err != nil {
		return Attempt{}, err
	}
	return classify(answer, at), nil
}

// classify says what an answer that came at the time at means.
func classify(answer Answer, at time.Time) Attempt {
	a := Attempt{Outcome: Failed, Status: answer.Status, Reason: "answered " + statusText(answer.Status)}
	switch {
	case answer.Status >= 200 && answer.Status <= 299:
		a.Outcome, a.Reason = Delivered, ""
	case answer.Status >= 300 && answer.Status <= 399:
		a.Reason += ": redirects are not followed"
	case answer.Status == http.StatusGone:
		a.Outcome = Gone
	case answer.Status == http.StatusTooManyRequests, answer.Status == http.StatusServiceUnavailable:
		a.RetryAfter = parseRetryAfter(answer.Header.Get("Retry-After"), at)
	}
	if a.Outcome != Delivered {
		a.Answer = collab.Legible(answer.Body, collab.MaxDeliveryAnswer)
	}
	return a
}
