package operator

import (
	"context"
	"fmt"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
)

type explained struct {
	inEvent
	User string `arg:"" optional:"" help:"User: what was decided for them, and what would be decided now."`
}

// explain says why an event reached people, or did not.
func explain(ctx context.Context, r *Run, p *explained) error {
	r.aboveAccount(p.Account)
	r.Above = append(r.Above, link("Event "+string(p.Event), r.at("/event", "account event")))
	if p.User == "" {
		r.Title = "Who was notified of event " + string(p.Event)
		return r.addPeople(ctx, p.ref())
	}
	r.Title = fmt.Sprintf("Was %s notified of event %s?", p.User, p.Event)
	then, now, err := r.deliverer.ExplainTo(ctx, p.ref(), p.User)
	if err != nil {
		return err
	}
	part := &Part{Columns: []string{"When", "Inbox", "Mail", "Mail to"}}
	r.add(part)
	if then != nil {
		part.Rows = append(part.Rows, append(row("as it was decided"), outcomes(then, "is to be notified")...))
	}
	switch {
	case now != nil:
		part.Rows = append(part.Rows, append(row("as it would be decided now"), outcomes(now, "would be notified")...))
	case then == nil:
		part.Empty = "The event does not concern the user: it does not name them, and they are not in its thread."
	}
	return nil
}

// addPeople adds everybody whom an event concerns, with what became of it for them.
func (r *Run) addPeople(ctx context.Context, ref collab.EventRef) error {
	part := &Part{
		Title: "Who was notified, and who was not", Columns: []string{"User", "Inbox", "Mail", "Mail to"}, Empty: "It concerns nobody.",
	}
	wouldBe := "would be notified"
	read := func(after string, _ int) ([]delivery.Explanation, string, error) {
		page, err := r.deliverer.Explain(ctx, ref, after)
		if err != nil {
			return nil, "", err
		}
		if wouldBe = "would be notified"; page.Kept {
			wouldBe = "is to be notified"
		} else if len(page.People) > 0 {
			part.Note = "It was not decided yet, or that was not kept: this is how it would be decided now."
		}
		return page.People, page.Next, nil
	}
	return list(r, "people", part, pageSize, read, always(func(e delivery.Explanation) []Cell {
		who := link(named(e.User), r.at("/explain", "account event", "user", e.UserID))
		return append(row(who), outcomes(&e, wouldBe)...)
	}))
}

// outcomes are the cells of an explanation. open is what is said where nothing has become of it.
func outcomes(e *delivery.Explanation, open string) []Cell {
	return row(outcome("in it since", e.Inbox, open), outcome("sent at", e.Mail, open), collab.Deref(e.Email))
}

func outcome(reached string, o delivery.Outcome, open string) Cell {
	switch {
	case o.At != 0:
		c := good(reached + " " + Time(o.At).Clock())
		if o.ReadAt != 0 {
			c.Note = "read at " + Time(o.ReadAt).Clock()
		}
		if o.Why != "" {
			c.Note = o.Why
		}
		return c
	case o.Why == "":
		return Cell{Value: open}
	}
	return Cell{Value: "no: " + o.Why}
}
