package access

import (
	"context"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
)

// people is a collab.Sight that decides each document once.
type people struct {
	checker  *Checker
	settings collab.Settings
	query    collab.StandingQuery // without documents

	mu      sync.Mutex
	viewers map[collab.DocumentRef]collab.Viewers
}

// People returns the sight of users of an account with these settings.
func (c *Checker) People(settings collab.Settings, users ...string) collab.Sight {
	return c.sight(settings, collab.StandingQuery{Users: users})
}

// Person returns the sight of a person with a token. Documents added after the token was issued are
// hidden. For a request that writes, it reads early: see collab.StandingQuery.
func (c *Checker) Person(settings collab.Settings, p *collab.Person, writes bool) collab.Sight {
	return c.sight(settings, collab.StandingQuery{Users: []string{p.UserID}, Person: p, Early: writes})
}

func (c *Checker) sight(settings collab.Settings, query collab.StandingQuery) collab.Sight {
	query.Members = true
	return &people{checker: c, settings: settings, query: query, viewers: map[collab.DocumentRef]collab.Viewers{}}
}

// Viewers implements collab.Sight. It returns the errors of Checker.Viewers.
func (p *people) Viewers(
	ctx context.Context, documents []collab.DocumentRef, until time.Time,
) (map[collab.DocumentRef]collab.Viewers, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unknown := slices.DeleteFunc(slices.Clone(documents), func(d collab.DocumentRef) bool { return p.viewers[d] != nil })
	q := p.query
	q.Documents = unknown
	viewers, err := p.checker.viewers(ctx, ctx, p.settings, q, until)
	if err != nil {
		return nil, err
	}
	for i, list := range viewers {
		if len(list) > 0 {
			p.viewers[unknown[i]] = list
		}
	}
	found := make(map[collab.DocumentRef]collab.Viewers, len(documents))
	for _, d := range documents {
		if viewers, ok := p.viewers[d]; ok {
			found[d] = viewers
		}
	}
	return found, nil
}
