package rpc_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/request"
	"collabdata/shared/store/accounts"
	"collabdata/shared/testing/storetest"
)

// ledger is a store that records its calls.
type ledger struct {
	*accounts.Store
	claims []request.Claim // claims that succeeded
	kept   []byte          // the last response
	err    error           // returned by calls that end a claim
}

func (l *ledger) BeginIdempotent(ctx context.Context, claim request.Claim) (request.Outcome, error) {
	o, err := l.Store.BeginIdempotent(ctx, claim)
	if o.State == request.Claimed {
		l.claims = append(l.claims, o.Claim)
	}
	return o, err
}

func (l *ledger) FinishIdempotent(ctx context.Context, claim request.Claim, answer request.Answer) error {
	if l.err != nil {
		return l.err
	}
	l.kept = answer.Body
	return l.Store.FinishIdempotent(ctx, claim, answer)
}

// adder is an operation that counts its runs and returns a new id, unless fail is set.
type adder struct {
	*ledger
	now    time.Time
	server *rpc.Server
	log    bytes.Buffer
	runs   int
	fail   error
	during func() // called in a run
	h      http.Handler
}

func newAdder(t *testing.T) *adder {
	t.Helper()
	a := &adder{ledger: &ledger{Store: accounts.New(storetest.New(t))}, now: noon}
	a.server = &rpc.Server{
		Now: func() time.Time { return a.now }, Random: rand.Reader, Log: slog.New(slog.NewJSONHandler(&a.log, nil)), Idempotency: a.ledger,
	}
	a.h = rpc.Handle(a.server, func(_ context.Context, call *rpc.Call, _ *struct {
		Text string `json:"text"`
	}) (any, error) {
		a.runs++
		if a.during != nil {
			a.during()
		}
		return call.IDs.Next(), a.fail
	}, rpc.Options{Idempotent: true})
	return a
}

// send sends a body with a key, and returns the HTTP status and the body.
func (a *adder) send(ctx context.Context, key, text string) (int, string) {
	w := serve(a.h, newRequest(ctx, `{"data":{"text":"`+text+`"}}`, "Idempotency-Key", key))
	return w.Code, w.Body.String()
}

func TestIdempotentRepeat(t *testing.T) {
	a := newAdder(t)
	code, first := a.send(t.Context(), "k", "x")
	a.now = noon.Add(24*time.Hour - time.Millisecond)
	if again, second := a.send(t.Context(), "k", "x"); code != 200 || again != 200 || first != second || a.runs != 1 {
		t.Errorf("%d %s\nthen %d %s\nafter %d runs", code, first, again, second, a.runs)
	}
	if code, body := a.send(t.Context(), "k", "y"); code != 400 || !strings.Contains(body, "INVALID_ARGUMENT") || a.runs != 1 {
		t.Errorf("with another body: %d %s", code, body)
	}
	if _, other := a.send(t.Context(), "k2", "x"); other == first || a.runs != 2 {
		t.Errorf("another key: %s", other)
	}
	a.now = noon.Add(24*time.Hour + time.Second)
	if _, late := a.send(t.Context(), "k", "x"); late == first || a.runs != 3 {
		t.Errorf("after a day: %s", late)
	}
}

func TestIdempotencyKeyForm(t *testing.T) {
	long := strings.Repeat("k", 255)
	for key, want := range map[string]int{long: 200, " ~": 200, long + "k": 400, "é": 400, "a\tb": 400, "a\x7f": 400} {
		a := newAdder(t)
		code, body := a.send(t.Context(), key, "x")
		if code != want || want == 400 && (a.runs != 0 || !strings.Contains(body, "Idempotency-Key header must be")) {
			t.Errorf("%q: %d %s", key, code, body)
		}
	}
	a := newAdder(t)
	if w := serve(a.h, newRequest(t.Context(), `{"data":{}}`, "Idempotency-Key", "a", "Idempotency-Key", "b")); w.Code != 400 {
		t.Errorf("two keys: %d", w.Code)
	}
	for range 2 {
		a.send(t.Context(), "", "x")
	}
	if a.runs != 2 || len(a.claims) != 0 {
		t.Errorf("an empty key is one: %d runs", a.runs)
	}
}

// TestIdempotentFailures checks which failures bind the key, and that the others preserve the ids.
func TestIdempotentFailures(t *testing.T) {
	for _, test := range []struct {
		fail  error
		binds bool
	}{
		{collab.Errorf(collab.AlreadyExists, "there"), true},
		{collab.Errorf(collab.NotFound, "no such organization"), false},
		{collab.Errorf(collab.Aborted, "busy"), false},
		{errors.New("table X"), false},
	} {
		a := newAdder(t)
		a.fail = test.fail
		code, failed := a.send(t.Context(), "k", "x")
		if code < 400 {
			t.Fatalf("%v: %d", test.fail, code)
		}
		var ids []string
		for _, c := range a.claims {
			ids = append(ids, collab.NewIDs(c.Start, c.Seed).Next())
		}
		a.fail, a.now = nil, noon.Add(time.Millisecond)
		again, body := a.send(t.Context(), "k", "x")
		if test.binds && (again != code || body != failed || a.runs != 1) {
			t.Errorf("%v: again %d %s", test.fail, again, body)
		}
		if !test.binds && (again != 200 || a.runs != 2 || !strings.Contains(body, ids[0])) {
			t.Errorf("%v: again %d %s, want success with %s", test.fail, again, body, ids[0])
		}
	}

	a := newAdder(t)
	a.fail = collab.Errorf(collab.NotFound, "no such organization")
	a.send(t.Context(), "k", "x")
	a.fail = nil
	if code, body := a.send(t.Context(), "k", "y"); code != 200 {
		t.Errorf("another body under a freed key: %d %s", code, body)
	}
}

func TestIdempotentTwin(t *testing.T) {
	a := newAdder(t)
	a.during = func() {
		a.now = noon.Add(28500 * time.Millisecond)
		w := serve(a.h, newRequest(t.Context(), `{"data":{"text":"x"}}`, "Idempotency-Key", "k"))
		if f := failureOf(t, w); w.Code != 409 || f.Error.Status != collab.Aborted || w.Header().Get("Retry-After") != "2" {
			t.Errorf("a twin: %d %v %s", w.Code, w.Header(), w.Body)
		}
		if code, body := a.send(t.Context(), "k", "y"); code != 400 {
			t.Errorf("a twin with another body: %d %s", code, body)
		}
	}
	if code, body := a.send(t.Context(), "k", "x"); code != 200 || a.runs != 1 {
		t.Errorf("%d %s after %d runs", code, body, a.runs)
	}
}

// TestIdempotentTakeover lets an attempt outlive its lease: the next one generates the same ids,
// and the first does not undo its response.
func TestIdempotentTakeover(t *testing.T) {
	a := newAdder(t)
	var second string
	a.during = func() {
		a.during = nil
		a.now = noon.Add(30 * time.Second)
		_, second = a.send(t.Context(), "k", "x")
	}
	if _, first := a.send(t.Context(), "k", "x"); first != second || a.runs != 2 {
		t.Errorf("%s\n%s", first, second)
	}
}

func TestIdempotentPanic(t *testing.T) {
	a := newAdder(t)
	a.during = func() { panic("bug") }
	if code, _ := a.send(t.Context(), "k", "x"); code != 500 {
		t.Errorf("a panic is %d", code)
	}
	a.during = nil
	if code, body := a.send(t.Context(), "k", "x"); code != 200 {
		t.Errorf("the key was not freed: %d %s", code, body)
	}
}

// TestIdempotentDeadline checks that the response is stored even if the deadline passed after the
// last write.
func TestIdempotentDeadline(t *testing.T) {
	a := newAdder(t)
	ctx, cancel := context.WithCancel(t.Context())
	a.during = cancel
	_, first := a.send(ctx, "k", "x")
	if code, second := a.send(t.Context(), "k", "x"); code != 200 || first != second || a.runs != 1 {
		t.Errorf("%s\n%d %s", first, code, second)
	}
}

// TestIdempotencyNotKept checks that a request succeeds even if its response cannot be stored, and
// that this is logged.
func TestIdempotencyNotKept(t *testing.T) {
	a := newAdder(t)
	a.err = errors.New("table X")
	code, first := a.send(t.Context(), "k", "x")
	if code != 200 || strings.Count(a.log.String(), `"msg":"idempotency"`) != 1 || !strings.Contains(a.log.String(), "table X") {
		t.Errorf("%d %s\n%s", code, first, &a.log)
	}
	a.err, a.now = nil, noon.Add(request.ClaimLease)
	if code, second := a.send(t.Context(), "k", "x"); code != 200 || first != second || a.runs != 2 {
		t.Errorf("after the lease: %d %s", code, second)
	}
}

// TestIdempotentLargest stores the largest response of annotations/add: 500 ids of 256 random
// characters, 5,000 comment ids.
func TestIdempotentLargest(t *testing.T) {
	type result struct {
		Success      bool    `json:"success"`
		AnnotationID string  `json:"annotationId"`
		CommentIDs   []int64 `json:"commentIds"`
		Message      string  `json:"message"`
	}
	random := make([]byte, 500*256+5000*7)
	rand.Read(random)
	id := func(bytes []byte) string {
		for i := range bytes {
			bytes[i] = 0x20 + bytes[i]%95
		}
		return string(bytes)
	}
	var data rpc.Keyed[result]
	for i := range 500 {
		r := result{Success: true, AnnotationID: id(random[i*256 : i*256+256]), Message: "added"}
		for j := range 10 {
			b := random[500*256+(i*10+j)*7:]
			var n int64
			for _, b := range b[:6] {
				n = n<<8 | int64(b)
			}
			r.CommentIDs = append(r.CommentIDs, n+1)
		}
		data = append(data, rpc.Member[result]{Key: r.AnnotationID, Value: r})
	}
	a := newAdder(t)
	h := operation(a.server, func(context.Context, *rpc.Call) (any, error) { return data, nil }, rpc.Options{Idempotent: true})
	send := func() string {
		return serve(h, newRequest(t.Context(), `{"data":{}}`, "Idempotency-Key", "k")).Body.String()
	}
	first := send()
	if t.Logf("an answer of %d bytes is kept in %d", len(first), len(a.kept)); len(a.kept) > request.MaxKeptAnswer {
		t.Error("that is too much")
	}
	if second := send(); len(first) < request.MaxKeptAnswer || first != second {
		t.Errorf("%d bytes, then %d", len(first), len(second))
	}
}

func TestIdempotentTooLarge(t *testing.T) {
	a := newAdder(t)
	random := make([]byte, request.MaxKeptAnswer)
	rand.Read(random)
	h := operation(
		a.server, func(context.Context, *rpc.Call) (any, error) { return hex.EncodeToString(random), nil }, rpc.Options{Idempotent: true},
	)
	var w [2]string
	for i := range w {
		w[i] = serve(h, newRequest(t.Context(), `{"data":{}}`, "Idempotency-Key", "k")).Body.String()
	}
	if want := `{"result":{"status":"success","message":"already done; the response was too large to store","data":null}}`; w[1] != want ||
		len(w[0]) < 2*len(random) {
		t.Errorf("%d bytes, then %s", len(w[0]), w[1])
	}
}

// TestIdempotentSecret checks that a response with a secret is not stored: the operation returns it
// again, with the same ids.
func TestIdempotentSecret(t *testing.T) {
	a := newAdder(t)
	const secret = "shown this once"
	var again []bool
	h := operation(a.server, func(_ context.Context, call *rpc.Call) (any, error) {
		again = append(again, call.Again)
		call.Secret = true
		return secret + " " + call.IDs.Next(), nil
	}, rpc.Options{Idempotent: true})
	send := func() string {
		return serve(h, newRequest(t.Context(), `{"data":{}}`, "Idempotency-Key", "k")).Body.String()
	}
	first := send()
	a.now = noon.Add(time.Hour)
	if second := send(); first != second || !slices.Equal(again, []bool{false, true}) || !strings.Contains(first, secret) {
		t.Errorf("%s\nthen %s, %v", first, second, again)
	}
	if len(a.kept) > 0 {
		t.Errorf("kept as %q", a.kept)
	}
}

// TestIdempotentItems checks that a response does not bind the key if a retry can complete a failed
// item.
func TestIdempotentItems(t *testing.T) {
	for code, binds := range map[collab.Code]bool{
		"": true, collab.AlreadyExists: true, collab.NotFound: true, collab.InvalidArgument: true, collab.FailedPrecondition: true,
		collab.Aborted: false, collab.Unavailable: false, collab.ResourceExhausted: false, collab.DeadlineExceeded: false, collab.Internal: false,
	} {
		a := newAdder(t)
		runs := 0
		h := operation(a.server, func(_ context.Context, call *rpc.Call) (any, error) {
			runs++
			var failure error
			if code != "" {
				failure = collab.Errorf(code, "m")
			}
			return []rpc.Outcome{call.Outcome(nil, "done"), call.Outcome(failure, "done")}, nil
		}, rpc.Options{Idempotent: true})
		for range 2 {
			serve(h, newRequest(t.Context(), `{"data":{}}`, "Idempotency-Key", "k"))
		}
		if binds != (runs == 1) {
			t.Errorf("%s: %d runs", code, runs)
		}
	}
}

// TestIdempotentTimes checks that a later attempt has the ids of the first, and its own time.
func TestIdempotentTimes(t *testing.T) {
	a := newAdder(t)
	var ids []string
	var times []time.Time
	h := operation(a.server, func(_ context.Context, call *rpc.Call) (any, error) {
		ids, times = append(ids, call.IDs.Next()), append(times, call.Now)
		return nil, collab.Errorf(collab.Unavailable, "not now")
	}, rpc.Options{Idempotent: true})
	for _, now := range []time.Time{noon, noon.Add(10 * time.Hour), noon.Add(30 * time.Hour)} {
		a.now = now
		serve(h, newRequest(t.Context(), `{"data":{}}`, "Idempotency-Key", "k"))
	}
	if ids[0] != ids[1] || ids[0] != ids[2] || !times[2].Equal(a.now) {
		t.Errorf("ids %v, times %v", ids, times)
	}
}
