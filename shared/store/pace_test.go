package store

import (
	"context"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fixed is no randomness: every gap is half of its length.
type fixed struct{}

func (fixed) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// seeded is randomness for concurrent use.
type seeded struct {
	mu sync.Mutex
	*mathrand.ChaCha8
}

func (s *seeded) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ChaCha8.Read(b)
}

// partition takes so many write units a second, and holds one second's. A call passes while it holds any.
type partition struct {
	limit float64

	mu          sync.Mutex
	held        float64
	at          time.Time
	sent, taken int
	units       float64
	longest     time.Duration
}

func newPartition(limit float64) *partition {
	return &partition{limit: limit, held: limit, at: time.Now()}
}

func (p *partition) take(units float64) error {
	time.Sleep(5 * time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.held = min(p.limit, p.held+p.limit*now.Sub(p.at).Seconds())
	p.at = now
	p.sent++
	if p.held <= 0 {
		return &types.ThrottlingException{}
	}
	p.held -= units
	p.taken++
	return nil
}

func putTo(pk string, bytes int) []Write {
	it := NewItem(table.Key{PK: pk, SK: "sk"})
	it[table.Text] = Text(strings.Repeat("x", bytes))
	return []Write{{Put: &types.Put{Item: it}}}
}

// write sends a write until it is taken, as the SDK does.
func write(ctx context.Context, p *paces, writes []Write, attempt func() error) (attempts int, err error) {
	c := &call{writes: writes, began: time.Now()}
	for {
		attempts++
		if err = p.send(ctx, c, attempt); !isThrottle(err) || ctx.Err() != nil {
			return attempts, err
		}
	}
}

// TestPaces has many clients write to one partition for half a minute. Each process knows only what it met itself.
func TestPaces(t *testing.T) {
	for _, test := range []struct {
		processes, clients int // of each process
		limit              float64
		bytes              []int // sizes of what is written, in turn
	}{
		{1, 1, 200, []int{3000}},
		{1, 16, 200, []int{3000}},
		{16, 1, 200, []int{3000}},
		{4, 4, 200, []int{100, 100, 100, 5000}},
		{1, 500, 200, []int{3000}},
		{16, 16, 1000, []int{3000}},
		{1, 64, 1000, []int{100}},
	} {
		t.Run(fmt.Sprintf("%dx%d at %v", test.processes, test.clients, test.limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const seconds = 30
				random := &seeded{ChaCha8: mathrand.NewChaCha8([32]byte{1})}
				hot, start := newPartition(test.limit), time.Now()
				var wg sync.WaitGroup
				for range test.processes {
					p := newPaces(time.Now, random)
					for i := range test.clients {
						wg.Go(func() {
							for n := i; time.Since(start) < seconds*time.Second; n++ {
								in, began := putTo("hot", test.bytes[n%len(test.bytes)]), time.Now()
								units := charges(in)[0][0].units
								if _, err := write(t.Context(), p, in, func() error { return hot.take(units) }); err != nil {
									t.Error(err)
								}
								hot.mu.Lock()
								if time.Since(start) < seconds*time.Second {
									hot.units += units
								}
								hot.longest = max(hot.longest, time.Since(began))
								hot.mu.Unlock()
							}
						})
					}
					wg.Go(func() {
						for time.Since(start) < seconds*time.Second {
							began := time.Now()
							if attempts, _ := write(t.Context(), p, putTo("other", 100), func() error { return nil }); attempts != 1 || time.Since(began) > 0 {
								t.Errorf("a write to another partition waited %v", time.Since(began))
							}
							time.Sleep(100 * time.Millisecond)
						}
					})
				}
				wg.Wait()
				if most := test.limit * (seconds + 1); hot.units < 0.8*most {
					t.Errorf("%.0f units were written of %.0f", hot.units, most)
				}
				if calls := float64(hot.sent) / float64(hot.taken); calls > 1.5 {
					t.Errorf("%.2f calls for each write", calls)
				}
				if hot.longest > 26*time.Second {
					t.Errorf("a write took %v", hot.longest)
				}
			})
		})
	}
}

// TestPaceOfOnePartition follows the rate of a partition through refusals and successes, with gaps that are half as long as they would be
// on average.
func TestPaceOfOnePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaces(time.Now, fixed{})
		refuse := true
		start := time.Now()
		var sent []float64 // milliseconds
		attempt := func() error {
			sent = append(sent, time.Since(start).Seconds()*1000)
			if refuse {
				return &types.ThrottlingException{}
			}
			return nil
		}
		put := func() { _ = p.send(t.Context(), &call{writes: putTo("hot", 100), began: time.Now()}, attempt) }

		put() // refused: 10 units a second from now on, so a gap of 50 ms
		put() // refused, with the same gap behind it: 7
		put() // refused, with a gap of 71.4 ms: 4.9
		refuse = false
		put() // taken: 4.9 + 1 % + 0.5
		want := []float64{0, 50, 100, 100 + 500/7.0}
		if diff := cmp.Diff(want, sent, cmpopts.EquateApprox(0, 0.001)); diff != "" {
			t.Error(diff)
		}
		if got, want := p.of["hot"].rate, 4.9*1.01+0.5; math.Abs(got-want) > 1e-9 {
			t.Errorf("the rate is %v, not %v", got, want)
		}

		_ = p.send(t.Context(), &call{writes: putTo("hot", 100), began: time.Now()}, func() error { return &types.ConditionalCheckFailedException{} })
		if got, want := p.of["hot"].rate, (4.9*1.01+0.5)*1.01+0.5; math.Abs(got-want) > 1e-9 {
			t.Errorf("the rate is %v, not %v, after a write whose condition did not hold", got, want)
		}

		time.Sleep(5 * time.Second)
		rate := p.of["hot"].rate
		put() // need not wait: shows nothing of what the partition takes
		if got := p.of["hot"].rate; got != rate {
			t.Errorf("the rate is %v, not %v, after a write that need not wait", got, rate)
		}
		time.Sleep(quiet)
		put()
		if len(p.of) > 0 {
			t.Error("the partition is still paced long after its last refusal")
		}
	})
}

// TestRefusalsOfOneBurst are one refusal: what was sent before the rate was cut does not cut it again.
func TestRefusalsOfOneBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaces(time.Now, fixed{})
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				_ = p.send(t.Context(), &call{writes: putTo("hot", 100), began: time.Now()}, func() error {
					time.Sleep(5 * time.Millisecond)
					return &types.ThrottlingException{}
				})
			})
		}
		wg.Wait()
		if got := p.of["hot"].rate; got != firstRate {
			t.Errorf("the rate is %v, not %v", got, firstRate)
		}
	})
}

// TestFirstRate is what was taken in the second before the first refusal.
func TestFirstRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaces(time.Now, fixed{})
		for range 500 {
			p.took([]charge{{"hot", 3}, {"other", 1}}, false, time.Time{})
			time.Sleep(10 * time.Millisecond)
		}
		p.refuse(charge{"hot", 3}, time.Now())
		if got := p.of["hot"].rate; math.Abs(got-300) > 10 {
			t.Errorf("the rate is %v, not about 300", got)
		}
	})
}

// TestFirstRateOfMany takes what was sent before the first refusal, and is answered behind it, for what the partition takes too.
func TestFirstRateOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaces(time.Now, fixed{})
		sent := time.Now()
		time.Sleep(time.Millisecond)
		p.refuse(charge{"hot", 3}, sent)
		for range 50 {
			p.took([]charge{{"hot", 3}}, false, sent)
		}
		if got := p.of["hot"].rate; got != 150 {
			t.Errorf("the rate is %v, not 150", got)
		}
		time.Sleep(time.Millisecond)
		p.took([]charge{{"hot", 100}}, false, time.Now())
		if got := p.of["hot"].rate; got != 150 {
			t.Errorf("after what was sent in its turn the rate is %v, not 150", got)
		}
	})
}

// TestTurns are given in the order in which calls began, and not to those that have gone.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaces(time.Now, fixed{})
		p.refuse(charge{"hot", 100}, time.Now())
		base := time.Now()
		gone, leave := context.WithCancel(t.Context())
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for _, began := range []int{3, 1, 4, 2} {
			ctx := t.Context()
			if began == 2 {
				ctx = gone
			}
			wg.Go(func() {
				c := &call{writes: putTo("hot", 100), began: base.Add(time.Duration(began))}
				_ = p.send(ctx, c, func() error {
					if err := ctx.Err(); err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					order = append(order, began)
					return nil
				})
			})
			synctest.Wait()
		}
		leave()
		wg.Wait()
		if diff := cmp.Diff([]int{1, 3, 4}, order); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTurnThatComesTooLate: a call is sent when there is time for no further try, even out of its turn.
func TestTurnThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaces(time.Now, fixed{})
		for range 20 {
			p.refuse(charge{"hot", 100}, time.Now())
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), reserve+time.Second)
		defer cancel()
		c := &call{writes: putTo("hot", 100), began: start}
		if err := p.send(ctx, c, func() error { return nil }); err != nil || time.Since(start) != time.Second {
			t.Errorf("sent after %v: %v", time.Since(start), err)
		}
	})
}

// TestPacesAreBounded refuses writes of more partitions than are paced at a time.
func TestPacesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaces(time.Now, fixed{})
		for i := range 2 * mostPaces {
			p.refuse(charge{fmt.Sprint(i), 1}, time.Now())
		}
		if len(p.of) != mostPaces {
			t.Errorf("%d partitions are paced, not %d", len(p.of), mostPaces)
		}
		time.Sleep(quiet + 1)
		p.refuse(charge{"new", 1}, time.Now())
		if len(p.of) != 1 {
			t.Errorf("%d partitions are paced, not the one that refused lately", len(p.of))
		}
	})
}

// TestRefusedBy has DynamoDB refuse calls in every way that it tells.
func TestRefusedBy(t *testing.T) {
	doc := table.DocumentPartition("acct", "org", "doc")
	indexes := "indexes of " + table.OrganizationPartition("acct", "org")
	head := NewItem(table.Annotation("acct", "org", "doc", "ann"))
	head[table.OrgUpd] = Text("1")
	update := []Write{{Update: &types.Update{Key: head}}}
	comment := []Write{{Put: &types.Put{Item: NewItem(table.Comment("acct", "org", "doc", "ann", 1))}}}
	due := NewItem(table.Key{PK: "DUE#1", SK: "1"})
	transaction := []Write{
		{Put: &types.Put{Item: due}}, {Put: &types.Put{Item: head}}, {ConditionCheck: &types.ConditionCheck{Key: NewItem(head.Key())}},
	}
	cancelled := func(item int, code, message string) error {
		reasons := make([]types.CancellationReason, 3)
		for i := range reasons {
			reasons[i].Code = aws.String("None")
		}
		reasons[item] = types.CancellationReason{Code: &code, Message: &message}
		return &types.TransactionCanceledException{CancellationReasons: reasons}
	}
	of := func(reason string) []types.ThrottlingReason { return []types.ThrottlingReason{{Reason: &reason}} }
	const (
		either = "Throughput exceeds the current capacity of your table or index."
		index  = "Throughput exceeds the current capacity for one or more global secondary indexes."
	)
	for _, test := range []struct {
		name   string
		writes []Write
		err    error
		want   string // "" for none
	}{
		{"no reason given", update, &smithy.GenericAPIError{Code: "ThrottlingException"}, doc},
		{"table", update, &types.ThrottlingException{ThrottlingReasons: of("TableWriteKeyRangeThroughputExceeded")}, doc},
		{"index", update, &types.ThrottlingException{ThrottlingReasons: of("IndexWriteKeyRangeThroughputExceeded")}, indexes},
		{"index, provisioned", update, &types.ProvisionedThroughputExceededException{
			ThrottlingReasons: of("IndexWriteProvisionedThroughputExceeded"),
		}, indexes},
		{"item in no index", comment, &types.ThrottlingException{ThrottlingReasons: of("IndexWriteKeyRangeThroughputExceeded")}, doc},
		{"transaction, first", transaction, cancelled(0, "ThrottlingError", either), "DUE#1"},
		{"transaction, second", transaction, cancelled(1, "ProvisionedThroughputExceeded", either), doc},
		{"transaction, index", transaction, cancelled(1, "ThrottlingError", index), indexes},
		{"transaction, condition", transaction, cancelled(2, "ThrottlingError", either), doc},
		{"transaction as a whole", transaction, &types.ThrottlingException{}, "DUE#1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !isThrottle(test.err) {
				t.Fatal("not for lack of capacity")
			}
			got, ok := refusedBy(test.err, charges(test.writes))
			if got.place != test.want || ok != (test.want != "") {
				t.Errorf("%q, %v; want %q", got.place, ok, test.want)
			}
		})
	}
}

func TestCharges(t *testing.T) {
	doc := table.DocumentPartition("acct", "org", "doc")
	indexes := "indexes of " + table.OrganizationPartition("acct", "org")
	head := NewItem(table.Annotation("acct", "org", "doc", "ann"))
	head[table.OrgUpd] = Text("1")
	comment := NewItem(table.Comment("acct", "org", "doc", "ann", 1))
	comment[table.Text] = Text(strings.Repeat("x", 2500))
	for _, test := range []struct {
		name   string
		writes []Write
		want   []charge
	}{
		{"comment", []Write{{Put: &types.Put{Item: comment}}}, []charge{{doc, 3}}},
		{"head", []Write{{Put: &types.Put{Item: head}}}, []charge{{doc, 1}, {indexes, 1}}},
		{"update", []Write{{Update: &types.Update{Key: head}}}, []charge{{doc, 1}, {indexes, 1}}},
		{"removal of no organization's", []Write{{Delete: &types.Delete{Key: NewItem(table.Key{PK: "DUE#1"})}}}, []charge{{"DUE#1", 1}}},
		{"transaction", []Write{
			{Put: &types.Put{Item: head}}, {Put: &types.Put{Item: comment}}, {Delete: &types.Delete{Key: NewItem(table.Key{PK: "DUE#1"})}},
		}, []charge{{doc, 8}, {indexes, 1}, {"DUE#1", 2}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, together(charges(test.writes)), cmp.AllowUnexported(charge{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// refusingOnce answers the first request with a refusal, and all others with success.
type refusingOnce struct{ asked int }

func (r *refusingOnce) Do(*http.Request) (*http.Response, error) {
	r.asked++
	if r.asked == 1 {
		const refusal = `{"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
			"throttlingReasons": [{"reason": "IndexWriteKeyRangeThroughputExceeded"}]}`
		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(refusal))}, nil
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
}

// TestTableIsPaced: a table's writes go by the paces.
func TestTableIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := aws.Config{
			Region: "eu-west-1", HTTPClient: &refusingOnce{}, BaseEndpoint: aws.String("http://127.0.0.1"),
			Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		}
		tab := New(cfg, "table", time.Now, fixed{})
		start := time.Now()
		if err := tab.Delete(t.Context(), table.Annotation("acct", "org", "doc", "ann")); err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(start), 50*time.Millisecond; got != want {
			t.Errorf("taken after %v, not %v", got, want)
		}
		if tab.paces.of["indexes of "+table.OrganizationPartition("acct", "org")] == nil {
			t.Errorf("paced are %v", tab.paces.of)
		}
	})
}
