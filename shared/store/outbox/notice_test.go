package outbox

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// dueEmails returns the minutes of the notices that the relay finds now.
func (s *Store) dueEmails(t *testing.T) (list []DueNotice) {
	t.Helper()
	for shard := range keys.DueShards {
		for next := ""; ; {
			found, after, err := s.DueNotices(t.Context(), shard, next, 2, func(err error) { t.Error(err) })
			must.Do(t, err)
			list = append(list, found...)
			if next = after; next == "" {
				break
			}
		}
	}
	return list
}

// TestEmail: entries join a notice until it leaves, the relay finds it when it is due, and only one
// run claims it.
func TestEmail(t *testing.T) { storetest.OnEach(t, New, testEmail) }

func testEmail(t *testing.T, s *Store) {
	ctx := t.Context()
	now := time.Now().Truncate(time.Minute)
	s.Table = s.At(func() time.Time { return now })
	org := collab.OrganizationRef{Account: "acct", Organization: "org", Incarnation: 7}
	bob := NoticeAbout(Recipient{org, "bob"}, "email", "doc", "ann")
	in := func(d time.Duration) collab.Millis { return now.Add(d).UnixMilli() }
	found := collab.Millis(0) // key of the notice
	add := func(position string, due collab.Millis, isNew bool) {
		t.Helper()
		minute, err := s.AddToNotice(ctx, bob, position, due, true, false)
		if err != nil || (minute != 0) != isNew {
			t.Fatalf("%s: found in %d, %v", position, minute, err)
		}
		if isNew {
			found = minute
		}
	}
	claim := func(want string) *ClaimedNotice {
		t.Helper()
		c, err := s.ClaimNotice(ctx, bob.Ref(), found, in(90*time.Second))
		if err != nil || (c != nil) != (want != "") || c != nil && (c.From != want || !cmp.Equal(c.Notice, bob)) {
			t.Fatalf("%+v, %v", c, err)
		}
		return c
	}
	add("0002", in(90*time.Second), true)
	if found != in(3*time.Minute) { // a minute after the message
		t.Errorf("it is found at %v", time.UnixMilli(found))
	}
	add("0003", in(5*time.Minute), false)
	add("0001", in(5*time.Minute), false) // of a late event
	if list := s.dueEmails(t); len(list) != 0 {
		t.Errorf("due %+v", list)
	}
	claim("") // too early
	now = now.Add(90 * time.Second)
	c := claim("0001")
	claim("") // held by another run
	_, err := s.FreeNotice(ctx, c, 0, false)
	must.Do(t, err)
	claim("0001")
	now = now.Add(90 * time.Second) // the run has died, and the relay finds the notice
	list := s.dueEmails(t)
	if len(list) != 1 || list[0].Minute != found || list[0].Since != in(-90*time.Second) {
		t.Fatalf("due %+v", list)
	}
	minute, err := s.PostponeNotice(ctx, list[0], in(2*time.Minute))
	must.Do(t, err)
	if again, err := s.PostponeNotice(ctx, list[0], in(2*time.Minute)); again != 0 || err != nil {
		t.Errorf("another run of the relay has postponed it, too: %d, %v", again, err)
	}
	claim("") // the minute before
	found = minute
	c = claim("0001")
	if c.Postponed != 1 {
		t.Errorf("postponed %d times", c.Postponed)
	}

	// It waits an hour, and keeps its original due time.
	found, err = s.FreeNotice(ctx, c, in(time.Hour), false)
	must.Do(t, err)
	it, err := s.Get(ctx, bob.key())
	if err != nil || found != in(time.Hour) || it.Number(keys.Expires) != Expiry(in(time.Hour)) {
		t.Errorf("it is found at %v: %v, %v", time.UnixMilli(found), it, err)
	}
	claim("")
	now = now.Add(time.Hour)
	c = claim("0001")
	if c.Postponed != 0 || c.First != in(-time.Hour-90*time.Second) || c.Since != in(0) {
		t.Errorf("%+v", c)
	}

	// An entry that is added during sending waits for the next notice.
	add("0004", in(0), false)
	found, err = s.FinishNotice(ctx, c, in(time.Hour), false)
	must.Do(t, err)
	claim("")
	add("0005", in(10*time.Minute), true) // earlier than before
	if found != in(11*time.Minute) {
		t.Errorf("it is found at %v", time.UnixMilli(found))
	}
	now = now.Add(12 * time.Minute)
	c = claim("0001")
	if earlier := in(-2 * time.Minute); c.First != earlier || c.Since != earlier {
		t.Errorf("%+v", c)
	}
	for range 2 {
		if minute, err := s.FinishNotice(ctx, c, in(time.Hour), false); err != nil || minute != 0 {
			t.Errorf("%d, %v", minute, err)
		}
	}
	if it, err := s.Get(ctx, keys.DueNotice(found, "acct", bob.ID)); it != nil || err != nil {
		t.Errorf("in the list of what is due is %v, %v", it, err)
	}
	claim("")
	_, err = s.FreeNotice(ctx, c, in(time.Hour), false) // from a late run
	must.Do(t, err)
	now = now.Add(24 * time.Hour)
	for _, d := range s.dueEmails(t) { // the rest of the later time leads nowhere
		if c, err := s.ClaimNotice(ctx, d.Ref(), d.Minute, in(time.Minute)); c != nil || err != nil {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if list := s.dueEmails(t); len(list) != 0 {
		t.Errorf("due %+v", list)
	}
}

// TestFinishedLate: a run that finishes late leaves the next notice to the same person alone, even if
// it counts as many entries.
func TestFinishedLate(t *testing.T) { storetest.OnEach(t, New, testFinishedLate) }

func testFinishedLate(t *testing.T, s *Store) {
	ctx := t.Context()
	now := time.Now().Truncate(time.Minute)
	s.Table = s.At(func() time.Time { return now })
	bob := NoticeAbout(Recipient{collab.OrganizationRef{Account: "acct", Organization: "org", Incarnation: 7}, "bob"}, "email", "doc", "ann")
	claim := func(position string) *ClaimedNotice {
		t.Helper()
		minute, err := s.AddToNotice(ctx, bob, position, now.UnixMilli(), true, false)
		must.Do(t, err)
		now = now.Add(2 * time.Minute)
		c, err := s.ClaimNotice(ctx, bob.Ref(), minute, now.Add(time.Minute).UnixMilli())
		must.Do(t, err)
		if c == nil {
			t.Fatalf("the notice from %s is not claimed", position)
		}
		return c
	}
	late := claim("0001")
	_, err := s.FinishNotice(ctx, late, 0, false)
	must.Do(t, err)
	next := claim("0002")
	_, err = s.FinishNotice(ctx, late, now.UnixMilli(), false)
	must.Do(t, err)
	if it, err := s.Get(ctx, bob.key()); it == nil || err != nil {
		t.Errorf("the next notice is %v, %v", it, err)
	}
	_, err = s.FinishNotice(ctx, next, 0, false)
	must.Do(t, err)
	if it, err := s.Get(ctx, bob.key()); it != nil || err != nil {
		t.Errorf("the finished notice is %v, %v", it, err)
	}
}

// TestManyDue: due notices are listed once, in pages. However late, they expire no sooner than
// notices that are due now.
func TestManyDue(t *testing.T) {
	s := New(storetest.New(t))
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	const many = 40
	for i := range many {
		e := NoticeAbout(Recipient{org, "bob"}, "email", fmt.Sprint(i))
		began := s.Millis()
		_, err := s.AddToNotice(t.Context(), e, "0001", began-time.Hour.Milliseconds(), false, false)
		must.Do(t, err)
		if it, err := s.Get(t.Context(), e.key()); err != nil || it.Number(keys.Expires) < Expiry(began) {
			t.Errorf("%v, %v", it, err)
		}
	}
	found := map[string]bool{}
	for _, d := range s.dueEmails(t) {
		if found[d.ID] {
			t.Errorf("%q is listed twice", d.ID)
		}
		found[d.ID] = true
	}
	if len(found) != many {
		t.Errorf("%d of %d are listed", len(found), many)
	}
}

// TestAddedAtOnce: a notice includes entries that were added concurrently from the first on, at the
// earliest time.
func TestAddedAtOnce(t *testing.T) {
	table, now := storetest.New(t), time.Now().Truncate(time.Minute)
	bob := NoticeAbout(Recipient{collab.OrganizationRef{Account: "acct", Organization: "org"}, "bob"}, "email")
	add := func(s *Store, position string, wait time.Duration) collab.Millis {
		minute, err := s.AddToNotice(context.Background(), bob, position, now.Add(wait).UnixMilli(), false, false)
		must.Do(t, err)
		return minute
	}
	s := New(table.At(func() time.Time { return now }))
	add(s, "0003", 3*time.Hour)
	calls, found := 0, collab.Millis(0)
	add(New(storetest.Watched(t, table, func(string, string) *http.Response {
		if calls++; calls == 2 { // it lowers the position
			found = add(s, "0001", time.Hour)
		}
		return nil
	})), "0002", 2*time.Hour)
	now = now.Add(time.Hour)
	c, err := s.ClaimNotice(t.Context(), bob.Ref(), found, now.Add(time.Minute).UnixMilli())
	if err != nil || c == nil || c.From != "0001" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAddedBehind: an entry that is added while the previous notice ends joins the next one, which
// is found even in the same minute.
func TestAddedBehind(t *testing.T) {
	table, now := storetest.New(t), time.Now().Truncate(time.Minute)
	bob := NoticeAbout(Recipient{collab.OrganizationRef{Account: "acct", Organization: "org"}, "bob"}, "email")
	s := New(table.At(func() time.Time { return now }))
	add := func(position string, wait time.Duration) collab.Millis {
		minute, err := s.AddToNotice(context.Background(), bob, position, now.Add(wait).UnixMilli(), true, false)
		must.Do(t, err)
		return minute
	}
	claim := func(minute collab.Millis) *ClaimedNotice {
		c, err := s.ClaimNotice(t.Context(), bob.Ref(), minute, now.Add(time.Minute).UnixMilli())
		must.Do(t, err)
		return c
	}
	first, next := add("0001", 10*time.Second), collab.Millis(0)
	now = now.Add(10 * time.Second)
	c := claim(first)
	calls := 0
	ending := New(storetest.Watched(t, table, func(string, string) *http.Response {
		if calls++; calls == 2 { // it removes the notice from the list
			next = add("0002", 10*time.Second)
		}
		return nil
	}))
	for range 2 {
		minute, err := ending.FinishNotice(t.Context(), c, now.Add(10*time.Second).UnixMilli(), true)
		must.Do(t, err)
		it, err := s.Get(t.Context(), keys.DueNotice(next, "acct", bob.ID))
		if it == nil || err != nil || minute != 0 && minute != next {
			t.Errorf("found in %d, want %d: %v, %v", minute, next, it, err)
		}
	}
	now = now.Add(10 * time.Second)
	if c := claim(next); next != first || c == nil || c.From != "0002" {
		t.Errorf("found in %d, then %d: %+v", first, next, c)
	}
}

// TestFreeKilled kills a run that postpones a notice. The relay finds the notice at the new time.
func TestFreeKilled(t *testing.T) {
	table, now := storetest.New(t), time.Now().Truncate(time.Minute)
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	for after := range 4 {
		bob := NoticeAbout(Recipient{org, "bob"}, "email", fmt.Sprint(after))
		s := New(table.At(func() time.Time { return now }))
		found, err := s.AddToNotice(t.Context(), bob, "0001", now.UnixMilli(), false, false)
		must.Do(t, err)
		c, err := s.ClaimNotice(t.Context(), bob.Ref(), found, now.Add(time.Minute).UnixMilli())
		must.Do(t, err)
		killed := New(storetest.Killed(t, table, after))
		if _, err := killed.FreeNotice(t.Context(), c, now.Add(time.Hour).UnixMilli(), false); (err == nil) != (after == 3) {
			t.Errorf("killed after %d calls: %v", after, err)
		}
		claimed := 0
		for _, wait := range []time.Duration{2 * time.Minute, time.Hour} {
			now = now.Add(wait)
			for _, d := range s.dueEmails(t) {
				if c, err = s.ClaimNotice(t.Context(), d.Ref(), d.Minute, now.Add(time.Minute).UnixMilli()); c != nil {
					claimed++
					_, err = s.FinishNotice(t.Context(), c, 0, false)
				}
				must.Do(t, err)
			}
		}
		if claimed != 1 {
			t.Errorf("killed after %d calls: claimed %d times", after, claimed)
		}
	}
}

// TestEmailKilled loses calls while a notice is filled and sent. The relay finds the notice in
// every case.
func TestEmailKilled(t *testing.T) {
	table := storetest.New(t)
	now := time.Now().Truncate(time.Minute)
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	for after := range 12 {
		bob := NoticeAbout(Recipient{org, "bob"}, "email", string(rune('a'+after)))
		s := New(storetest.Killed(t, table, after).At(func() time.Time { return now }))
		whole := New(table.At(func() time.Time { return now }))
		run := func(s *Store, again bool) error {
			minute, err := s.AddToNotice(context.Background(), bob, "0001", now.UnixMilli(), false, again)
			if err != nil || minute == 0 {
				return err
			}
			c, err := s.ClaimNotice(context.Background(), bob.Ref(), minute, now.Add(time.Minute).UnixMilli())
			if err != nil || c == nil {
				return err
			}
			if _, err = s.AddToNotice(context.Background(), bob, "0002", now.UnixMilli(), false, false); err == nil {
				_, err = s.FinishNotice(context.Background(), c, now.Add(time.Hour).UnixMilli(), false)
			}
			return err
		}
		if run(s, false) == nil {
			break
		}
		must.Do(t, run(whole, true)) // the event is delivered again
		now = now.Add(2 * time.Hour)
		sent := false
		for _, d := range whole.dueEmails(t) {
			c, err := whole.ClaimNotice(t.Context(), d.Ref(), d.Minute, now.Add(time.Minute).UnixMilli())
			must.Do(t, err)
			if c != nil {
				sent = sent || c.From == "0001" && c.ID == bob.ID
				_, err = whole.FinishNotice(t.Context(), c, 1, false)
				must.Do(t, err)
			}
		}
		if !sent {
			t.Errorf("killed after %d calls: the notice is not found", after)
		}
	}
}
