package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"collabdata/shared/collab"
)

// How a permission provider is asked. The reference has the form of question and answer: shared/api/openapi/introduction.md.
const (
	providerTimeout = 2 * time.Second
	providerTries   = 3
	providerPause   = 100 * time.Millisecond // before the second try; twice as long before the third
	providerUsers   = 50                     // of one question
	providerAnswer  = 100_000                // bytes of an answer: each of these users with an id of 256 bytes, each escaped to six
	providerCalls   = 4                      // at the same time
)

type permissionQuestion struct {
	OrganizationID string   `json:"organizationId"`
	DocumentID     string   `json:"documentId"`
	UserIDs        []string `json:"userIds"`
}

type permissionAnswer struct {
	UserIDs []string `json:"userIds"`
}

// askProvider returns those of the users who may see a document, by the answer of the account's permission provider. After an error some
// questions had no answer: their users are not returned.
func (d *Deliverer) askProvider(
	ctx context.Context, p *collab.PermissionProvider, doc collab.DocumentRef, users []string,
) (map[string]bool, error) {
	var parts [][]string
	for rest := users; len(rest) > 0; {
		n := min(len(rest), providerUsers)
		parts = append(parts, rest[:n])
		rest = rest[n:]
	}
	var mu sync.Mutex
	var errs []error
	allowed := map[string]bool{}
	_ = each(len(parts), providerCalls, func(i int) error {
		yes, err := d.askTries(ctx, p, permissionQuestion{doc.Organization, doc.Document, parts[i]})
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
		asked := map[string]bool{}
		for _, u := range parts[i] {
			asked[u] = true
		}
		for _, u := range yes {
			if asked[u] {
				allowed[u] = true
			}
		}
		return nil
	})
	return allowed, errors.Join(errs...)
}

func (d *Deliverer) askTries(ctx context.Context, p *collab.PermissionProvider, q permissionQuestion) (allowed []string, err error) {
	pause := providerPause
	for n := 1; ; n++ {
		allowed, err = d.ask(ctx, p, q)
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

func (d *Deliverer) ask(ctx context.Context, p *collab.PermissionProvider, q permissionQuestion) ([]string, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	answer, err := d.provider.Post(ctx, p.URL, http.Header{"Authorization": {"Bearer " + p.Secret}}, body)
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
