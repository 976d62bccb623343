package outbox

import (
	"testing"
	"time"

	"collabdata/shared/collab"

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
	pending := func() collab.Progress {
		t.Helper()
		ev, p, err := s.Pending(ctx, ref)
		if diff := cmp.Diff(want, ev); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		return p
	}
	start := pending()
	work := s.dueAt(t)
	if len(work) != 1 || start != (collab.Progress{Due: work[0].At}) || work[0].At-work[0].Since != firstDue.Milliseconds() {
		t.Fatalf("at the start %+v, pending %+v", start, work)
	}
	advance := func(from, to collab.Progress, want bool) {
		t.Helper()
		if got, err := s.Advance(ctx, ref, from, to); err != nil || got != want {
			t.Fatalf("from %+v to %+v: %v, %v", from, to, got, err)
		}
	}
	spread := collab.Progress{Stage: collab.StageSpread, Cursor: "200", Due: start.Due}
	advance(start, spread, true)
	advance(start, spread, true) // as after a lost answer
	advance(start, collab.Progress{Stage: collab.StageSpread, Cursor: "400", Due: start.Due}, false)
	if got := pending(); got != spread {
		t.Errorf("%+v, want %+v", got, spread)
	}

	moved := start.Due + 1000
	if ok, err := s.MoveDue(ctx, work[0], moved); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if ok, err := s.MoveDue(ctx, work[0], moved+1); err != nil || ok {
		t.Errorf("moved twice: %v, %v", ok, err)
	}
	spread.Due = moved
	if got := pending(); got != spread {
		t.Errorf("moved: %+v, want %+v", got, spread)
	}
	if work := s.dueAt(t); len(work) != 1 || work[0].At != moved || work[0].Moves != 1 {
		t.Errorf("pending %+v", work)
	}

	mail := collab.Progress{Stage: collab.StageMail, Due: moved + 5000}
	advance(spread, mail, true)
	if work := s.dueAt(t); len(work) != 1 || work[0].At != mail.Due || work[0].Moves != 0 || work[0].Since != mail.Due {
		t.Errorf("pending %+v", work)
	}
	if err := s.Finish(ctx, ref, pending()); err != nil {
		t.Fatal(err)
	}
	if got := pending(); got.Stage != collab.StageDone || len(s.dueAt(t)) != 0 {
		t.Errorf("done: %+v, pending %+v", got, s.dueAt(t))
	}
	if _, _, err := s.Pending(ctx, collab.EventRef{Account: "acct", ID: "none"}); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("no such event: %v", err)
	}
}

// TestMoveFirst: the relay moves an event of which nothing was done yet.
func TestMoveFirst(t *testing.T) { onEach(t, testMoveFirst) }

func testMoveFirst(t *testing.T, s *Store) {
	ctx := t.Context()
	_, ref := s.addEvent(t, "e")
	w := s.dueAt(t)[0]
	if ok, err := s.MoveDue(ctx, w, w.At+60_000); err != nil || !ok {
		t.Fatal(ok, err)
	}
	_, p, err := s.Pending(ctx, ref)
	if err != nil || p != (collab.Progress{Due: w.At + 60_000}) {
		t.Errorf("%+v, %v", p, err)
	}
	if ok, err := s.Advance(ctx, ref, p, collab.Progress{Stage: collab.StageSpread, Cursor: "1", Due: p.Due}); err != nil || !ok {
		t.Error(ok, err)
	}
}

func TestCircle(t *testing.T) { onEach(t, testCircle) }

func testCircle(t *testing.T, s *Store) {
	ctx := t.Context()
	_, ref := s.addEvent(t, "e")
	if c, err := s.Circle(ctx, ref, "u#x"); c != nil || err != nil {
		t.Fatal(c, err)
	}
	first := &collab.Circle{Recipients: []collab.Recipient{{User: collab.User{UserID: "bob", Name: new("Bob")}, Inbox: true}}, Next: "n"}
	for _, c := range []*collab.Circle{first, {Recipients: nil}} {
		kept, err := s.KeepCircle(ctx, ref, "u#x", c)
		if diff := cmp.Diff(first, kept); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	c, err := s.Circle(ctx, ref, "u#x")
	if diff := cmp.Diff(first, c); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, p, err := s.Pending(ctx, ref); err != nil || p.Stage != collab.StageNew {
		t.Errorf("a circle is no progress: %+v, %v", p, err)
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
	claim := func(event string, alone bool, want ...string) {
		t.Helper()
		got, err := s.ClaimMail(ctx, thread, event, alone, lease())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
	}
	busy := func(event string) {
		t.Helper()
		if got, err := s.ClaimMail(ctx, thread, event, false, lease()); collab.CodeOf(err) != collab.Aborted {
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
	if got, err := s.ClaimMail(ctx, other, "e1", false, lease()); err != nil || len(got) != 1 {
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
