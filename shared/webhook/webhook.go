// Package webhook posts events to back ends. Payloads depend on the event type and are signed as in
// Standard Webhooks 1.0.0. The client only connects to public addresses and to addresses
// that the deployment lists. It retries failed posts on a ladder.
//
// The OpenAPI document of package api describes the payloads.
package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	"collabdata/shared/collab"
)

// Message is a post to an endpoint about an event.
type Message struct {
	URL     string
	ID      string   // webhook-id: the same at every attempt, without a full stop
	Secrets []string // at least one; each signs, so that receivers can rotate secrets
	Body    []byte
}

// Outcome is the consequence of an attempt.
type Outcome string

// Outcomes.
const (
	Delivered Outcome = "delivered" // a 2xx response arrived in time
	Failed    Outcome = "failed"    // any other result: see RetryDelay
	Gone      Outcome = "gone"      // 410: disable the endpoint
)

// Attempt is the result of one post of a Message.
type Attempt struct {
	Outcome Outcome
	Status  int // HTTP status of the response; 0 for none
	// why it failed, for the endpoint's owner: without addresses and resolvers; "" if it succeeded
	Reason     string
	RetryAfter time.Duration // wait that the endpoint requested, at most MaxRetryAfter; 0 for none
	Answer     string        // start of a failed response, as collab.Legible returns it
	Err        error         // cause of a missing response, for the log
}

// Deliver posts a message once, signed for the time at. It returns an error if the endpoint is not
// at fault: the context ended (the error wraps its cause), or a secret is malformed.
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

// classify returns the result of a response received at a time.
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
