package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"collabdata/scripts/admin/console"
	"collabdata/shared/client"
	"collabdata/shared/collab"
)

// Limits of the receiver's memory.
const (
	maxEndpoints = 50
	maxArrived   = 20      // latest ones per endpoint
	maxWebhook   = 1 << 20 // bytes of a body
	maxShown     = 16_000  // shown bytes of a body
	maxRefused   = 1_000   // shown bytes of a refused body
)

// receiver receives and verifies webhooks, and keeps the latest for its page.
type receiver struct {
	webhooks func(ctx context.Context, account string) ([]collab.Webhook, error)
	now      func() time.Time

	mu        sync.Mutex
	endpoints []*endpoint // latest activity first
	last      int         // key of the latest arrival
}

// endpoint is an address of the receiver.
type endpoint struct {
	Name    string
	Arrived []arrival // newest first
}

// arrival is a received webhook.
type arrival struct {
	First          bool // of all
	Key            int  // unique
	ID, Type, Time string
	Header, Body   string
	Problem        string // why it was refused; "" if accepted
	Delivery       string // the console's page of the delivery, to send it again; "" if refused
}

// receive receives a webhook. It responds with 204 if a secret signed it, else 401.
func (c *receiver) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
	if err != nil {
		http.Error(w, "the body is too large or did not end", http.StatusBadRequest)
		return
	}
	name := r.PathValue("name")
	now := c.now()
	a := arrival{ID: r.Header.Get("webhook-id"), Type: "unknown", Time: clock(now), Header: headerText(r.Header)}
	event, delivery, problem, err := c.verify(r.Context(), name, r.Header, body, now)
	if err != nil {
		http.Error(w, "the webhooks cannot be read", http.StatusServiceUnavailable)
		return
	}
	if a.Problem = problem; problem == "" {
		a.Type, a.Delivery, a.Body = string(event.Type), delivery, collab.Cut(indented(body), maxShown)
	} else {
		a.Header, a.Body = collab.Cut(a.Header, maxRefused), collab.Cut(strings.ToValidUTF8(string(body[:min(len(body), maxRefused)]), "�"), maxRefused)
	}
	c.keep(name, a)
	if problem != "" {
		http.Error(w, problem, http.StatusUnauthorized)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// verify returns the event, and the console's page of its delivery, or an error. It tries the
// secrets of the webhooks to this name.
func (c *receiver) verify(ctx context.Context, name string, h http.Header, body []byte, now time.Time) (
	event *client.WebhookEvent, delivery, problem string, err error) {
	problem = "no webhook was added with this address"
	for _, a := range devAccounts {
		webhooks, err := c.webhooks(ctx, a.id)
		if err != nil {
			return nil, "", "", err
		}
		for _, w := range webhooks {
			if u, err := url.Parse(w.URL); err != nil || u.Path != "/webhooks/"+name {
				continue
			}
			for _, secret := range w.SigningSecrets(now.UnixMilli()) {
				if event, err := client.VerifyWebhook(secret, h, body); err == nil {
					ids := url.Values{"accountId": {a.id}, "eventId": {h.Get("webhook-id")}, "webhookId": {w.ID}}
					return event, console.Path + "/event?" + ids.Encode(), "", nil
				}
				problem = "no secret of the webhook fits its signature"
			}
		}
	}
	return nil, "", problem, nil
}

func (c *receiver) keep(name string, a arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &endpoint{Name: name}
	if i := slices.IndexFunc(c.endpoints, func(e *endpoint) bool { return e.Name == name }); i >= 0 {
		e = c.endpoints[i]
		c.endpoints = slices.Delete(c.endpoints, i, i+1)
	}
	c.last++
	a.Key = c.last
	e.Arrived = append([]arrival{a}, e.Arrived[:min(len(e.Arrived), maxArrived-1)]...)
	c.endpoints = append([]*endpoint{e}, c.endpoints[:min(len(c.endpoints), maxEndpoints-1)]...)
}

// shown returns a copy of the arrivals.
func (c *receiver) shown() []endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]endpoint, len(c.endpoints))
	for i, e := range c.endpoints {
		list[i] = endpoint{e.Name, slices.Clone(e.Arrived)}
		list[i].Arrived[0].First = i == 0
	}
	return list
}

// headerText returns the identifying headers of a webhook, one per line.
func headerText(h http.Header) string {
	var lines []string
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature", "content-type", "user-agent"} {
		lines = append(lines, name+": "+strings.ReplaceAll(h.Get(name), " ", "\n  "))
	}
	return strings.Join(lines, "\n")
}

// indented indents a webhook's body. Its signature was verified, so its nesting is limited.
func indented(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}

// clock formats a time.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
