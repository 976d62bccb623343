package outbox

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// dueEmails returns the minutes of the emails that the relay finds, as they are due now.
func (s *Store) dueEmails(t *testing.T) (list []DueEmail) {
	t.Helper()
	for shard := range keys.DueShards {
		for next := ""; ; {
			found, after, err := s.DueEmails(t.Context(), shard, next, 2, func(err error) { t.Error(err) })
			must.Do(t, err)
			list = append(list, found...)
			if next = after; next == "" {
				break
			}
		}
	}
	return list
}

// TestEmail: entries are added to an email until it has left; the relay finds it once it is due; one run at a time claims it.
func TestEmail(t *testing.T) { storetest.OnEach(t, New, testEmail) }

func testEmail(t *testing.T, s *Store) {
	ctx := t.Context()
	now := time.Now().Truncate(time.Minute)
	s.Table = s.At(func() time.Time { return now })
	org := collab.OrganizationRef{Account: "acct", Organization: "org", Incarnation: 7}
	bob := Email{For: Recipient{org, "bob"}, About: About{Document: "doc", Annotation: "ann"}}
	in := func(d time.Duration) collab.Millis { return now.Add(d).UnixMilli() }
	found := collab.Millis(0) // by which the email is found
	add := func(position string, due collab.Millis, isNew bool) {
		t.Helper()
		minute, err := s.AddToEmail(ctx, bob, position, due, true, false)
		if err != nil || (minute != 0) != isNew {
			t.Fatalf("%s: found in %d, %v", position, minute, err)
		}
		if isNew {
			found = minute
		}
	}
	claim := func(want string) *ClaimedEmail {
		t.Helper()
		c, err := s.ClaimEmail(ctx, bob.Ref(), found, in(time.Minute))
		if err != nil || (c != nil) != (want != "") || c != nil && (c.From != want || !cmp.Equal(c.Email, bob)) {
			t.Fatalf("%+v, %v", c, err)
		}
		return c
	}
	add("0002", in(90*time.Second), true)
	if found != in(3*time.Minute) { // a minute after the message
		t.Errorf("it is found at %v", time.UnixMilli(found))
	}
	add("0003", in(5*time.Minute), false)
	add("0001", in(5*time.Minute), false) // of an event that was late
	if list := s.dueEmails(t); len(list) != 0 {
		t.Errorf("due %+v", list)
	}
	claim("") // too early
	now = now.Add(90 * time.Second)
	c := claim("0001")
	claim("") // another run has it
	_, err := s.FreeEmail(ctx, c, 0, false)
	must.Do(t, err)
	claim("0001")
	now = now.Add(90 * time.Second) // the run has died, and the relay finds the email
	list := s.dueEmails(t)
	if len(list) != 1 || list[0].Minute != found || list[0].Since != in(-90*time.Second) {
		t.Fatalf("due %+v", list)
	}
	minute, err := s.PostponeEmail(ctx, list[0], in(2*time.Minute))
	must.Do(t, err)
	if again, err := s.PostponeEmail(ctx, list[0], in(2*time.Minute)); again != 0 || err != nil {
		t.Errorf("another run of the relay has postponed it, too: %d, %v", again, err)
	}
	claim("") // by the minute before
	found = minute
	c = claim("0001")
	if c.Postponed != 1 {
		t.Errorf("postponed %d times", c.Postponed)
	}

	// It waits for an hour, and is due as before it had to wait.
	found, err = s.FreeEmail(ctx, c, in(time.Hour), false)
	must.Do(t, err)
	claim("")
	now = now.Add(time.Hour)
	c = claim("0001")
	if c.Postponed != 0 || c.First != in(-time.Hour-90*time.Second) || c.Since != in(0) {
		t.Errorf("%+v", c)
	}

	// An entry that is added while it is sent waits for the next.
	add("0004", in(0), false)
	found, err = s.FinishEmail(ctx, c, in(time.Hour), false)
	must.Do(t, err)
	claim("")
	add("0005", in(10*time.Minute), true) // earlier than it was
	now = now.Add(12 * time.Minute)
	c = claim("0001")
	for range 2 {
		if minute, err := s.FinishEmail(ctx, c, in(time.Hour), false); err != nil || minute != 0 {
			t.Errorf("%d, %v", minute, err)
		}
	}
	claim("")
	now = now.Add(24 * time.Hour)
	for _, d := range s.dueEmails(t) { // what is left of the later time leads nowhere
		if c, err := s.ClaimEmail(ctx, d.Ref(), d.Minute, in(time.Minute)); c != nil || err != nil {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if list := s.dueEmails(t); len(list) != 0 {
		t.Errorf("due %+v", list)
	}
}

// TestEmailKilled adds to an email and sends it while calls are lost: whatever dies, the relay finds the email.
func TestEmailKilled(t *testing.T) {
	table := storetest.New(t)
	now := time.Now().Truncate(time.Minute)
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	for after := range 12 {
		bob := Email{For: Recipient{org, "bob"}, About: About{ID: string(rune('a' + after))}}
		s := New(storetest.Killed(t, table, after).At(func() time.Time { return now }))
		whole := New(table.At(func() time.Time { return now }))
		run := func(s *Store, again bool) error {
			minute, err := s.AddToEmail(context.Background(), bob, "0001", now.UnixMilli(), false, again)
			if err != nil || minute == 0 {
				return err
			}
			c, err := s.ClaimEmail(context.Background(), bob.Ref(), minute, now.Add(time.Minute).UnixMilli())
			if err != nil || c == nil {
				return err
			}
			if _, err = s.AddToEmail(context.Background(), bob, "0002", now.UnixMilli(), false, false); err == nil {
				_, err = s.FinishEmail(context.Background(), c, now.Add(time.Hour).UnixMilli(), false)
			}
			return err
		}
		if run(s, false) == nil {
			break
		}
		must.Do(t, run(whole, true)) // the event is delivered once more
		now = now.Add(2 * time.Hour)
		sent := false
		for _, d := range whole.dueEmails(t) {
			c, err := whole.ClaimEmail(t.Context(), d.Ref(), d.Minute, now.Add(time.Minute).UnixMilli())
			must.Do(t, err)
			if c != nil {
				sent = sent || c.From == "0001" && c.About == bob.About
				_, err = whole.FinishEmail(t.Context(), c, 1, false)
				must.Do(t, err)
			}
		}
		if !sent {
			t.Errorf("killed after %d calls: the email is not found", after)
		}
	}
}
