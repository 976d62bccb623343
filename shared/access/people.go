package access

import (
	"context"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
)

// people is a collab.Sight that asks about each document once.
type people struct {
	checker  *Checker
	settings collab.Settings
	users    []string
	early    bool // see collab.StandingQuery

	mu    sync.Mutex
	known map[collab.DocumentRef]collab.Viewers
}

// People returns the sight of users of an account with these settings.
func (c *Checker) People(settings collab.Settings, users ...string) collab.Sight {
	return &people{checker: c, settings: settings, users: users, known: map[collab.DocumentRef]collab.Viewers{}}
}

// Writer is People for one user who writes: it asks early. See collab.StandingQuery.
func (c *Checker) Writer(settings collab.Settings, user string) collab.Sight {
	return &people{checker: c, settings: settings, users: []string{user}, early: true, known: map[collab.DocumentRef]collab.Viewers{}}
}

// Viewers implements collab.Sight. It fails like Checker.Viewers.
func (p *people) Viewers(
	ctx context.Context, documents []collab.DocumentRef, until time.Time,
) (map[collab.DocumentRef]collab.Viewers, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unknown := slices.DeleteFunc(slices.Clone(documents), func(d collab.DocumentRef) bool { return p.known[d] != nil })
	viewers, err := p.checker.viewers(ctx, p.settings, unknown, p.users, true, p.early, until)
	if err != nil {
		return nil, err
	}
	for i, of := range viewers {
		if len(of) > 0 {
			p.known[unknown[i]] = of
		}
	}
	found := make(map[collab.DocumentRef]collab.Viewers, len(documents))
	for _, d := range documents {
		if of, ok := p.known[d]; ok {
			found[d] = of
		}
	}
	return found, nil
}
