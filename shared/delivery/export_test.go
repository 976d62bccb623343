package delivery

import (
	"context"

	"collabdata/shared/collab"
)

// Reasons returns why the channels do not reach the people whom an event concerns, by user id: inbox, then mail; "" where one does.
func (d *Deliverer) Reasons(ctx context.Context, ev *collab.Event) (map[string][2]string, error) {
	account, err := d.account(ctx, ev.Account)
	if err != nil {
		return nil, err
	}
	r := d.about(ev, account.Settings, &thread{})
	people, _, err := r.audience(ctx, "")
	if err != nil {
		return nil, err
	}
	list, err := r.decide(ctx, people)
	reasons := map[string][2]string{}
	for _, d := range list {
		reasons[d.UserID] = [2]string{string(d.inbox), string(d.mail)}
	}
	return reasons, err
}
