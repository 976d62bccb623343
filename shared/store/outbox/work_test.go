package outbox

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func (s *Store) addEvent(t *testing.T, id string) (*collab.Event, collab.EventRef) {
	t.Helper()
	ev := &collab.Event{ID: id, Type: collab.NotificationAdded, Account: "acct", OrganizationID: "org", DocumentID: "doc", Time: 1}
	if _, err := s.Commit(t.Context(), storetest.Request(time.Now()), nil, ev); err != nil {
		t.Fatal(err)
	}
	return ev, collab.EventRef{Account: "acct", ID: id}
}

func TestWork(t *testing.T) { storetest.OnEach(t, New, testWork) }

func testWork(t *testing.T, s *Store) {
	ctx := t.Context()
	_, ref := s.addEvent(t, "e")
	// works checks that there is one piece of pending work, equal in all lists, and returns it.
	works := func(want Work) Work {
		t.Helper()
		got := s.pending(t)
		if len(got) != 1 {
			t.Fatalf("pending %+v", got)
		}
		for _, kind := range []collab.WorkKind{collab.EventWork, collab.ParkedWork} {
			at, err := s.Pending(ctx, ref, kind)
			if (at != nil) != (kind == got[0].Kind) || at != nil && *at != got[0] || err != nil {
				t.Errorf("among %s %+v, %v", kind, at, err)
			}
		}
		want.EventRef = ref
		if got[0].Next = 0; got[0].Expires == 0 {
			t.Error("it does not expire")
		}
		if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(Work{}, "Expires", "Body")); diff != "" {
			t.Error(diff)
		}
		return got[0]
	}
	start := s.pending(t)[0]
	if start.Next != start.Since+firstDue.Milliseconds() {
		t.Errorf("at the start %+v", start)
	}
	works(Work{Kind: collab.EventWork, Since: start.Since})
	next := func(want collab.Millis) {
		t.Helper()
		if got := s.pending(t)[0].Next; got != want {
			t.Errorf("sent again at %d, want %d", got, want)
		}
	}
	advance := func(from, to Work, want bool) {
		t.Helper()
		if got, err := s.Advance(ctx, from, to); err != nil || got != want {
			t.Fatalf("from %+v to %+v: %v, %v", from, to, got, err)
		}
	}
	parked := start
	parked.Kind, parked.Next = collab.ParkedWork, start.Since
	advance(start, parked, true)
	advance(start, parked, false) // by another run
	works(Work{Kind: collab.ParkedWork, Since: start.Since})
	next(start.Since)

	waiting := s.pending(t)[0]
	for i, want := range []bool{true, false} {
		if moved, err := s.Postpone(ctx, waiting, start.Since+7_000); err != nil || moved != want {
			t.Errorf("moved %d: %v, %v", i, moved, err)
		}
	}
	next(start.Since + 7_000)
	works(Work{Kind: collab.ParkedWork, Since: start.Since, Postponed: 1})
	spread := parked
	spread.Stage, spread.Cursor, spread.Next = StageRecipients, "200", 0
	advance(parked, spread, true) // although the relay has moved it
	advance(parked, spread, false)
	works(Work{Kind: collab.ParkedWork, Stage: StageRecipients, Cursor: "200", Since: start.Since})
	if got := s.pending(t)[0].Next; got <= start.Since+7_000 {
		t.Errorf("sent again at %d, although a message is sent", got)
	}

	mail := spread
	mail.Kind, mail.Stage, mail.Cursor, mail.Since = collab.EventWork, StageEnd, "", start.Since+5_000
	mail.Next = mail.Since
	advance(spread, mail, true)
	works(Work{Kind: collab.EventWork, Stage: StageEnd, Since: mail.Since})
	next(mail.Since)
	later := mail
	later.Since, later.Next = later.Since+1_000, later.Next+1_000
	advance(mail, later, true)
	next(later.Since)
	if err := s.Finish(ctx, spread); err != nil { // by an outdated run
		t.Fatal(err)
	}
	works(Work{Kind: collab.EventWork, Stage: StageEnd, Since: later.Since})
	for range 2 {
		must.Do(t, s.Finish(ctx, later))
		if left := s.pending(t); len(left) != 0 {
			t.Errorf("pending %+v", left)
		}
	}

	// Later calls bring nothing back.
	advance(later, mail, false)
	advance(later, parked, false)
	if moved, err := s.Postpone(ctx, later, 1); err != nil || moved {
		t.Errorf("moved what is done: %v, %v", moved, err)
	}
	if left := s.pending(t); len(left) != 0 {
		t.Errorf("pending %+v", left)
	}
}

// TestFailed: failed work is not sent again until it is retried, and then continues at its stage.
func TestFailed(t *testing.T) { storetest.OnEach(t, New, testFailed) }

func testFailed(t *testing.T, s *Store) {
	ctx := t.Context()
	_, ref := s.addEvent(t, "e")
	check := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	start := s.pending(t)[0]
	stood := start
	stood.Stage, stood.Cursor = StageRecipients, "@u"
	if moved, err := s.Advance(ctx, start, stood); !moved || err != nil {
		t.Fatal(moved, err)
	}
	check(s.Fail(ctx, start, "by a run that is behind"))
	if left := s.pending(t); len(left) != 1 {
		t.Errorf("pending %+v", left)
	}
	check(s.Fail(ctx, stood, "it dies"))
	if failed, err := s.Pending(ctx, ref, collab.FailedWork); err != nil || failed == nil || failed.Failure != "it dies" || len(s.pending(t)) != 0 {
		t.Errorf("%+v, %v; pending %+v", failed, err, s.pending(t))
	}
	if body, err := s.EventBody(ctx, ref); err != nil || !strings.Contains(string(body), `"id":"e"`) {
		t.Errorf("%s, %v", body, err)
	}
	check(s.Retry(ctx, ref))
	out := s.pending(t)
	if len(out) != 1 || out[0].Next > s.Millis() {
		t.Fatalf("pending %+v", out)
	}
	if diff := cmp.Diff(stood, out[0], cmpopts.IgnoreFields(Work{}, "Next", "Expires", "Since")); diff != "" {
		t.Error(diff)
	}
	if err := s.Retry(ctx, ref); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("taken out twice: %v", err)
	}
}

// TestUnreadable: unreadable items are reported separately, and skipped.
func TestUnreadable(t *testing.T) {
	ctx := t.Context()
	s := New(storetest.New(t))
	_, ref := s.addEvent(t, "e")
	it := store.NewItem(keys.Event(ref.Account, ref.ID))
	it[keys.Body] = store.Text(`{"id":1}`)
	must.Do(t, s.Put(ctx, it))
	if _, err := s.Event(ctx, ref.Account, ref.ID); !errors.Is(err, collab.ErrUnreadable) {
		t.Error(err)
	}
	if _, err := s.Event(ctx, ref.Account, "none"); collab.CodeOf(err) != collab.NotFound {
		t.Error(err)
	}
	k := keys.Work(string(collab.EventWork), ref.Account, ref.ID)
	for _, sk := range []string{"%zz#e", "acct#5#x", k.SK + "#more"} {
		must.Do(t, s.Put(ctx, store.NewItem(keys.Key{PK: k.PK, SK: sk})))
	}
	shard, err := strconv.Atoi(k.PK[len(k.PK)-1:])
	must.Do(t, err)
	skipped := 0
	list, next, err := s.Work(ctx, collab.EventWork, shard, "", 100, func(err error) {
		if skipped++; !errors.Is(err, collab.ErrUnreadable) {
			t.Error(err)
		}
	})
	if err != nil || len(list) != 1 || next != "" || skipped != 3 {
		t.Errorf("%+v, %q, %v, %d passed over", list, next, err, skipped)
	}
}
