package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"

	"golang.org/x/sync/errgroup"
)

// Limits of calls to a permission provider. For the form of request and response see
// shared/api/openapi/introduction.md.
const (
	providerTimeout = 2 * time.Second
	providerTries   = 3
	providerPause   = 100 * time.Millisecond // before the second attempt; doubled before the third
	providerUsers   = 50                     // in one request
	// Bytes of a response: each of these users with an id of 256 bytes, each escaped to six.
	providerAnswer = 100_000
	providerCalls  = 4 // concurrent

	silentTries = 2 // time-outs in a row
)

// SilentPause is the time for which a process asks a provider nothing after silentTries time-outs.
const SilentPause = 30 * time.Second

type permissionQuestion struct {
	OrganizationID string   `json:"organizationId"`
	DocumentID     string   `json:"documentId"`
	UserIDs        []string `json:"userIds"`
}

type permissionAnswer struct {
	UserIDs []string `json:"userIds"`
}

// ask returns, by user, whether the permission provider gives access to a document. It returns
// *NoAnswer if some requests fail or do not end before ctx, and omits their users.
func (c *Checker) ask(
	ctx context.Context, p *collab.PermissionProvider, doc collab.DocumentRef, users []string,
) (map[string]bool, error) {
	var mu sync.Mutex
	none := &NoAnswer{}
	allowed := map[string]bool{}
	var g errgroup.Group
	g.SetLimit(providerCalls)
	for part := range slices.Chunk(users, providerUsers) {
		g.Go(func() error {
			yes, err := c.askTries(ctx, doc.Account, p, permissionQuestion{doc.Organization, doc.Document, part})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				none.Users += len(part)
				none.Err = cmp.Or(none.Err, err)
				none.Later = none.Later || err == errSilent
				return nil
			}
			for _, u := range part {
				allowed[u] = slices.Contains(yes, u)
			}
			return nil
		})
	}
	_ = g.Wait()
	if none.Err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "the permission provider gave no answer: these users have no access",
			slog.String("account", doc.Account), slog.Int("users", none.Users), slog.Any("cause", none.Err))
		return allowed, none
	}
	return allowed, nil
}

func (c *Checker) askTries(
	ctx context.Context, acct string, p *collab.PermissionProvider, q permissionQuestion,
) (allowed []string, err error) {
	pause := providerPause
	for n := 1; ; n++ {
		if c.silent.Refuses(acct) {
			return nil, errSilent
		}
		if allowed, err = c.post(ctx, p, q); ctx.Err() == nil {
			c.silent.Record(acct, isTimeout(err))
		}
		if err == nil || n == providerTries {
			return allowed, err
		}
		timer := time.NewTimer(pause)
		pause *= 2
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

var errSilent = errors.New("it did not answer in time, and is asked again after 30 s")

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

func (c *Checker) post(ctx context.Context, p *collab.PermissionProvider, q permissionQuestion) ([]string, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	answer, err := c.client.Post(ctx, p.URL, http.Header{"Authorization": {"Bearer " + p.Secret}}, body)
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("answered %d", answer.Status)
	}
	var a permissionAnswer
	if len(answer.Body) == providerAnswer {
		return nil, fmt.Errorf("answered more than %d bytes", providerAnswer-1)
	}
	if err := json.Unmarshal(answer.Body, &a); err != nil {
		return nil, errors.New("answered something else than the JSON that was asked for")
	}
	return a.UserIDs, nil
}
