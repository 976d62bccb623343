package outbox

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/storetest"
	"collabdata/shared/table"

	"github.com/google/go-cmp/cmp"
)

// addEvent records an event and returns it with its reference.
func (s *Store) addEvent(t *testing.T, id string) (*collab.Event, collab.EventRef) {
	t.Helper()
	ev := &collab.Event{ID: id, Type: collab.NotificationAdded, Account: "acct", OrganizationID: "org", DocumentID: "doc", Time: 1}
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	if _, err := s.AddNotification(t.Context(), org, notification("of-"+id, "ann", 1), ev); err != nil {
		t.Fatal(err)
	}
	return ev, collab.EventRef{Account: "acct", ID: id}
}

func TestProgress(t *testing.T) { onEach(t, testProgress) }

func testProgress(t *testing.T, s *Store) {
	ctx := t.Context()
	want, ref := s.addEvent(t, "e")
	at := func() collab.Progress {
		t.Helper()
		ev, p, err := s.Pending(ctx, ref)
		if diff := cmp.Diff(want, ev); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		return p
	}
	works := func(kind collab.WorkKind, since, next, moves int64) {
		t.Helper()
		got := s.pending(t)
		if len(got) != 1 || got[0].EventRef != ref || got[0].Kind != kind || got[0].Since != since || got[0].Next != next || got[0].Moves != moves {
			t.Errorf("pending %+v, want %s since %d at %d", got, kind, since, next)
		}
	}
	start := at()
	if start.Stage != collab.StageNew || start.Due == 0 {
		t.Fatalf("at the start %+v", start)
	}
	works(collab.EventWork, start.Due, start.Due+firstDue.Milliseconds(), 0)
	advance := func(from, to collab.Progress, want bool) {
		t.Helper()
		if got, err := s.Advance(ctx, ref, from, to); err != nil || got != want {
			t.Fatalf("from %+v to %+v: %v, %v", from, to, got, err)
		}
	}
	parked := start
	parked.Work = collab.ParkedWork
	advance(start, parked, true)
	works(collab.ParkedWork, start.Due, start.Due, 0)
	if got := at(); got != parked {
		t.Errorf("%+v, want %+v", got, parked)
	}
	spread := collab.Progress{Stage: collab.StageFanOut, Cursor: "200", Due: start.Due, Work: collab.ParkedWork}
	advance(parked, spread, true)
	advance(parked, spread, true) // as after a lost answer
	advance(parked, collab.Progress{Stage: collab.StageFanOut, Cursor: "400", Due: start.Due}, false)
	if got := at(); got != spread {
		t.Errorf("%+v, want %+v", got, spread)
	}

	work := s.pending(t)[0]
	for i, want := range []bool{true, false} {
		if moved, err := s.MoveWork(ctx, work.Kind, work.Work, start.Due+7_000); err != nil || moved != want {
			t.Errorf("moved %d: %v, %v", i, moved, err)
		}
	}
	works(collab.ParkedWork, start.Due, start.Due+7_000, 1)

	mail := collab.Progress{Stage: collab.StageMail, Due: start.Due + 5_000, Work: collab.MailWork}
	advance(spread, mail, true)
	works(collab.MailWork, mail.Due, mail.Due, 0)
	if err := s.Finish(ctx, ref, at()); err != nil {
		t.Fatal(err)
	}
	if got := at(); got.Stage != collab.StageDone || len(s.pending(t)) != 0 {
		t.Errorf("done: %+v, pending %+v", got, s.pending(t))
	}
	if moved, err := s.MoveWork(ctx, work.Kind, work.Work, start.Due); err != nil || moved {
		t.Errorf("moved what is done: %v, %v", moved, err)
	}
	if _, _, err := s.Pending(ctx, collab.EventRef{Account: "acct", ID: "none"}); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("no such event: %v", err)
	}
}

// TestQuarantine: an event in the quarantine is no pending work, and goes on where it stood once it is taken out.
func TestQuarantine(t *testing.T) { onEach(t, testQuarantine) }

func testQuarantine(t *testing.T, s *Store) {
	ctx := t.Context()
	_, ref := s.addEvent(t, "e")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fail := func(err error) { t.Error(err) }
	for i := range 3 {
		if n, err := s.CountDeath(ctx, ref); n < int64(i+1) || err != nil {
			t.Errorf("death %d is counted as %d, %v", i+1, n, err)
		}
	}
	must(s.Survived(ctx, ref))
	_, at, err := s.Pending(ctx, ref)
	must(err)
	must(s.Quarantine(ctx, ref, at, "it dies"))
	list, err := s.Quarantined(ctx, fail)
	if err != nil || len(list) != 1 || list[0].EventRef != ref || list[0].Reason != "it dies" || len(s.pending(t)) != 0 {
		t.Errorf("%+v, %v; pending %+v", list, err, s.pending(t))
	}
	if body, err := s.EventBody(ctx, ref); err != nil || !strings.Contains(string(body), `"id":"e"`) {
		t.Errorf("%s, %v", body, err)
	}
	if _, in, err := s.Pending(ctx, ref); err != nil || in.Stage != collab.StageQuarantine {
		t.Errorf("%+v, %v", in, err)
	}
	must(s.Retry(ctx, ref))
	if _, out, err := s.Pending(ctx, ref); err != nil || out != at || len(s.pending(t)) != 1 {
		t.Errorf("%+v, want %+v, %v; pending %+v", out, at, err, s.pending(t))
	}
	if err := s.Retry(ctx, ref); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("taken out twice: %v", err)
	}
	if list, err := s.Quarantined(ctx, fail); err != nil || len(list) != 0 {
		t.Errorf("left %+v, %v", list, err)
	}
}

// TestUnreadable: what this version can't read is passed over, and its progress is known.
func TestUnreadable(t *testing.T) {
	ctx := t.Context()
	s := New(storetest.New(t), nil)
	_, ref := s.addEvent(t, "e")
	it := store.NewItem(table.Event(ref.Account, ref.ID))
	it[table.Body], it[table.DueAt] = store.Text(`{"id":1}`), store.Number(5)
	if err := s.Put(ctx, it); err != nil {
		t.Fatal(err)
	}
	if _, at, err := s.Pending(ctx, ref); !errors.Is(err, collab.ErrUnreadable) || at.Due != 5 {
		t.Errorf("%+v, %v", at, err)
	}
	k := table.Work(string(collab.EventWork), ref.Account, 5, ref.ID)
	for _, sk := range []string{"#", "acct#5#x", k.SK + "#more"} {
		if err := s.Put(ctx, store.NewItem(table.Key{PK: k.PK, SK: sk})); err != nil {
			t.Fatal(err)
		}
	}
	shard, err := strconv.Atoi(k.PK[len(k.PK)-1:])
	if err != nil {
		t.Fatal(err)
	}
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

func TestRecipientPage(t *testing.T) { onEach(t, testRecipientPage) }

func testRecipientPage(t *testing.T, s *Store) {
	ctx := t.Context()
	_, ref := s.addEvent(t, "e")
	if c, err := s.RecipientPage(ctx, ref, "u#x"); c != nil || err != nil {
		t.Fatal(c, err)
	}
	first := &collab.RecipientPage{Recipients: []collab.Recipient{{User: collab.User{UserID: "bob", Name: new("Bob")}, Inbox: true}}, Next: "n"}
	for _, c := range []*collab.RecipientPage{first, {Recipients: nil}} {
		kept, err := s.KeepRecipientPage(ctx, ref, "u#x", c)
		if diff := cmp.Diff(first, kept); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	c, err := s.RecipientPage(ctx, ref, "u#x")
	if diff := cmp.Diff(first, c); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, p, err := s.Pending(ctx, ref); err != nil || p.Stage != collab.StageNew {
		t.Errorf("a page is no progress: %+v, %v", p, err)
	}
}

func TestMail(t *testing.T) { onEach(t, testMail) }

func testMail(t *testing.T, s *Store) {
	ctx := t.Context()
	now := time.Now()
	s.Table = s.At(func() time.Time { return now })
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	thread := collab.MailThread{DocumentRef: org.Document("doc"), Annotation: "ann", User: "bob"}
	lease := func() int64 { return now.Add(time.Minute).UnixMilli() }
	for _, ev := range []string{"e1", "e2", "e3"} {
		if err := s.AddMail(ctx, thread, ev); err != nil {
			t.Fatal(err)
		}
	}
	fail := func(err error) { t.Error(err) }
	claim := func(event string, alone bool, want ...string) {
		t.Helper()
		got, err := s.ClaimMail(ctx, thread, event, alone, lease(), fail)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
	}
	busy := func(event string) {
		t.Helper()
		if got, err := s.ClaimMail(ctx, thread, event, false, lease(), fail); collab.CodeOf(err) != collab.Aborted {
			t.Fatalf("%v, %v", got, err)
		}
	}
	claim("e2", true, "e2")
	busy("e2")
	claim("e1", false, "e1", "e3")
	busy("e3")
	now = now.Add(time.Minute)
	claim("e2", false, "e1", "e2", "e3")
	if err := s.FreeMail(ctx, thread, []string{"e1", "e2", "e3"}); err != nil {
		t.Fatal(err)
	}
	claim("e1", false, "e1", "e2", "e3")
	if err := s.MailSent(ctx, thread, []string{"e1", "e2"}); err != nil {
		t.Fatal(err)
	}
	claim("e1", false)
	now = now.Add(time.Minute)
	claim("e2", false)
	if err := s.AddMail(ctx, thread, "e1"); err != nil {
		t.Fatal(err)
	}
	claim("e1", true)
	claim("e3", false, "e3")
	claim("e4", true, "e4") // never added
	other := thread
	other.User = "cid"
	if got, err := s.ClaimMail(ctx, other, "e1", false, lease(), fail); err != nil || len(got) != 1 {
		t.Errorf("of another user: %v, %v", got, err)
	}
}

func TestBacklog(t *testing.T) { onEach(t, testBacklog) }

func testBacklog(t *testing.T, s *Store) {
	ctx := t.Context()
	now := time.UnixMilli(5000)
	s.Table = s.At(func() time.Time { return now })
	for _, step := range []struct {
		at   int64
		long bool
		want int64
	}{{5000, false, 0}, {6000, true, 6000}, {7000, true, 6000}, {8000, false, 0}, {9000, true, 9000}} {
		now = time.UnixMilli(step.at)
		if got, err := s.Backlog(ctx, "events", step.long); err != nil || got != step.want {
			t.Errorf("at %d: %d, %v", step.at, got, err)
		}
	}
}
