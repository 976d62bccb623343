package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/keys"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// through is a table that is reached through a proxy. Nothing is tried again.
type through struct {
	*dynamodb.Client
	proxy *proxy
	url   string
	table *string
}

func start(t *testing.T, s settings) through {
	t.Helper()
	p := newProxy(localstacktest.DynamoDB(t), s)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	cfg := localstacktest.Config(server.URL)
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return through{dynamodb.NewFromConfig(cfg), p, server.URL, aws.String(storetest.New(t).Name())}
}

type attributes = map[string]types.AttributeValue

// of makes an item with a key and further attributes, names and values in turn.
func of(pk, sk string, more ...string) attributes {
	made := attributes{keys.PK: &types.AttributeValueMemberS{Value: pk}, keys.SK: &types.AttributeValueMemberS{Value: sk}}
	for i := 0; i < len(more); i += 2 {
		made[more[i]] = &types.AttributeValueMemberS{Value: more[i+1]}
	}
	return made
}

func (x through) get(t *testing.T, sk string) error {
	_, err := x.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: x.table, Key: of("p", sk)})
	return err
}

func (x through) put(t *testing.T, item attributes) error {
	_, err := x.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: x.table, Item: item})
	return err
}

// transact puts items, and checks that one is not there unless check is "".
func (x through) transact(t *testing.T, check string, puts ...attributes) error {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, item := range puts {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: x.table, Item: item}})
	}
	if check != "" {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: x.table, Key: of("p", check), ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}})
	}
	_, err := x.TransactWriteItems(t.Context(), in)
	return err
}

func (x through) transactGet(t *testing.T, sks ...string) error {
	in := &dynamodb.TransactGetItemsInput{}
	for _, sk := range sks {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: x.table, Key: of("p", sk)}})
	}
	_, err := x.TransactGetItems(t.Context(), in)
	return err
}

// reason is the code of an error, and of each item of a transaction that was cancelled; "" for none.
func reason(err error) string {
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		var codes []string
		for _, r := range cancelled.CancellationReasons {
			codes = append(codes, aws.ToString(r.Code))
		}
		if want := "[" + strings.Join(codes, ", ") + "]"; !strings.HasSuffix(cancelled.ErrorMessage(), want) {
			return "message " + cancelled.ErrorMessage()
		}
		return strings.Join(codes, " ")
	}
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		return refused.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestConflicts(t *testing.T) {
	x := start(t, settings{Conflicts: true})
	transaction := []key{{"p", "a"}, {"p", "b"}, {"p", "checked"}}
	x.proxy.writes.begin("TransactWriteItems", transaction)
	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{"an item of both", "None TransactionConflict", x.transact(t, "", of("p", "x"), of("p", "b"))},
		{"an item that the other checks", "TransactionConflict None", x.transact(t, "", of("p", "checked"), of("p", "y"))},
		{"a check of an item that the other writes", "None TransactionConflict", x.transact(t, "a", of("p", "z"))},
		{"a transaction that reads", "None TransactionConflict", x.transactGet(t, "q", "a")},
		{"a put", "TransactionConflictException", x.put(t, of("p", "a"))},
		{"a put of what is checked", "TransactionConflictException", x.put(t, of("p", "checked"))},
		{"a put of another item", "", x.put(t, of("p", "other"))},
		{"a read", "", x.get(t, "a")},
	} {
		if got := reason(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	x.proxy.writes.end("TransactWriteItems", transaction)
	if err := x.transact(t, "checked", of("p", "a")); err != nil {
		t.Errorf("after it: %v", err)
	}
	if u := &x.proxy.writes; len(u.transactions)+len(u.single) != 0 {
		t.Errorf("still under way: %v %v", u.transactions, u.single)
	}
}

func TestNoConflictOfSingleWrites(t *testing.T) {
	x := start(t, settings{Conflicts: true})
	x.proxy.writes.begin("PutItem", []key{{"p", "a"}})
	if err := errors.Join(x.transact(t, "", of("p", "a")), x.put(t, of("p", "a"))); err != nil {
		t.Errorf("writes during a single write: %v", err)
	}
	if got := reason(x.transactGet(t, "a")); got != "TransactionConflict" {
		t.Errorf("a transaction that reads during a single write: %q", got)
	}
}

func TestBuckets(t *testing.T) {
	var b buckets
	b.reset()
	now := time.Now()
	charges := []charge{{place: tablePlace, pk: "a", units: 400}, {place: "org", pk: "o", units: 600}}
	for i, want := range []int{-1, -1, 1} { // the index has nothing left after two
		if got := b.take(false, 1000, charges, now); got != want {
			t.Errorf("take %d: %d, want %d", i, got, want)
		}
	}
	if got := b.take(true, 1000, charges, now); got != -1 {
		t.Errorf("reads have buckets of their own: %d", got)
	}
	if got := b.take(false, 1000, charges, now.Add(300*time.Millisecond)); got != -1 { // -200 + 300
		t.Errorf("after 0.3 s: %d", got)
	}
	left := func() float64 { return b.m[partition{false, tablePlace, "a"}].units }
	if got := b.take(false, 1000, charges[:1], now.Add(time.Hour)); got != -1 || left() != 600 {
		t.Errorf("after an hour: %d, %f left", got, left())
	}
}

// TestThrottle puts items of one index partition, without a moment in between, until that is empty.
func TestThrottle(t *testing.T) {
	x := start(t, settings{WCU: 20, RCU: 20})
	now := time.Now()
	x.proxy.now = func() time.Time { return now }
	inIndex := func(i int) attributes { return of(fmt.Sprint("p", i), "s", keys.Org, "o", keys.OrgUpd, fmt.Sprint(i)) }
	passed := 0
	for i := range 40 {
		switch got := reason(x.put(t, inIndex(i))); got {
		case "":
			passed++
		case "ThrottlingException":
		default:
			t.Fatal(got)
		}
	}
	if passed != 20 {
		t.Errorf("%d of 40 passed", passed)
	}
	if got := reason(x.transact(t, "", of("p", "n"), inIndex(1))); got != "None ThrottlingError" {
		t.Errorf("a transaction: %q", got)
	}
	r := x.proxy.stats.report(now)
	if hot := r.Hottest["write "+keys.IndexOrg]; r.Ops["PutItem"].Throttles != 20 || len(hot) != 1 || !strings.Contains(hot[0], "21 throttles: o") {
		t.Errorf("%+v %v", r.Ops["PutItem"], r.Hottest)
	}
}

// TestUnits holds what writes cost the table and one of its indexes.
func TestUnits(t *testing.T) {
	x := start(t, settings{})
	update := func(expression string) func() error {
		return func() error {
			in := &dynamodb.UpdateItemInput{TableName: x.table, Key: of("p", "s"), UpdateExpression: &expression}
			if strings.Contains(expression, ":b") {
				in.ExpressionAttributeValues = attributes{":b": &types.AttributeValueMemberS{Value: "2"}}
			}
			if strings.Contains(expression, "#a") {
				in.ExpressionAttributeNames = map[string]string{"#a": keys.OrgUpd}
			}
			_, err := x.UpdateItem(t.Context(), in)
			return err
		}
	}
	put := func(item attributes) func() error { return func() error { return x.put(t, item) } }
	for _, tt := range []struct {
		name string
		do   func() error
		want float64
	}{
		{"in no index", put(of("p", "t")), 1},
		{"new", put(of("p", "s", keys.Org, "o", keys.OrgUpd, "1", "x", strings.Repeat("y", 1500))), 3},
		{"index key moved", update("SET #a = :b, c = if_not_exists(e, :b)"), 4},
		{"projected", update("SET " + keys.Status + " = :b"), 3},
		{"not projected", update("SET n = :b"), 2},
		{"leaves the index", update("REMOVE " + keys.Org), 3},
		{"in a transaction", func() error { return x.transact(t, "", of("p", "a")) }, 2},
	} {
		x.proxy.stats.mark()
		if err := tt.do(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := x.proxy.stats.mark().WriteUnits; got != tt.want {
			t.Errorf("%s: %v units, want %v", tt.name, got, tt.want)
		}
	}
}

// TestLeftover holds that a batch gets what there is capacity for, and the rest when there is more.
func TestLeftover(t *testing.T) {
	x := start(t, settings{})
	var wanted []attributes
	for _, pk := range []string{"empty", "full"} {
		wanted = append(wanted, of(pk, "s"))
		if err := x.put(t, of(pk, "s")); err != nil {
			t.Fatal(err)
		}
	}
	x.proxy.settings.RCU = 1
	now := time.Now()
	x.proxy.now = func() time.Time { return now }
	x.proxy.buckets.owe(true, 1, []charge{{place: tablePlace, pk: "empty", units: 1}}, now)
	got, err := x.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*x.table: {Keys: wanted}}})
	if err != nil {
		t.Fatal(err)
	}
	pk := func(item attributes) string { return item[keys.PK].(*types.AttributeValueMemberS).Value }
	left := got.UnprocessedKeys[*x.table].Keys
	if read := got.Responses[*x.table]; len(read) != 1 || pk(read[0]) != "full" || len(left) != 1 || pk(left[0]) != "empty" {
		t.Errorf("read %v, left %v", read, left)
	}
}

func TestDepth(t *testing.T) {
	at := func(from, to int64) *record { return &record{start: time.Unix(from, 0), end: time.Unix(to, 0)} }
	if n := depth([]*record{at(0, 10), at(1, 2), at(3, 4), at(4, 9), at(5, 6), at(20, 30)}); n != 4 {
		t.Errorf("%d, want 4", n)
	}
}

// TestConfigure holds that settings change together, and what latency and a lost answer are.
func TestConfigure(t *testing.T) {
	x := start(t, settings{Latency: true, ReadMs: 30, ReadP99: 30})
	begin := time.Now()
	if err := x.get(t, "a"); err != nil || time.Since(begin) < 30*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	configure := func(query string) int {
		res, err := http.Post(x.url+"/_config?"+query, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for query, want := range map[string]int{"lose=1&wcu=many": 400, "lose=1&other=1": 400, "latency=no": 400} {
		if got := configure(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if diff := cmp.Diff(settings{Latency: true, ReadMs: 30, ReadP99: 30}, x.proxy.current()); diff != "" {
		t.Error(diff)
	}
	if got := configure("lose=1&latency=false"); got != 200 {
		t.Fatal(got)
	}
	if err := x.put(t, of("p", "a")); err == nil {
		t.Error("an answer came")
	}
	if o := x.proxy.stats.report(time.Now()).Ops["PutItem"]; o.N != 1 || o.Lost != 1 || o.WriteUnits != 1 {
		t.Errorf("%+v", o)
	}
}

// TestQueues holds that the service's calls of SQS find a queue, and that it is empty.
func TestQueues(t *testing.T) {
	x := start(t, settings{})
	client := sqs.NewFromConfig(localstacktest.Config(x.url))
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("events")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: made.QueueUrl, MessageBody: aws.String("hello")}); err != nil {
		t.Error(err)
	}
	got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: made.QueueUrl})
	if err != nil || len(got.Messages) != 0 {
		t.Errorf("received %v, %v", got, err)
	}
	if m := x.proxy.stats.mark(); m.SQS != 1 || !slices.Equal(slices.Sorted(maps.Keys(m.Calls)), []string{"SendMessage"}) {
		t.Errorf("%+v", m)
	}
}
