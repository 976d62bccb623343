package delivery_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/delivery/pending"
	"collabdata/shared/keys"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/task"
	"collabdata/shared/store/threads"
	"collabdata/shared/testing/interleave"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// clock is a manual clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) millis() int64 { return c.Now().UnixMilli() }

// moveTo moves the clock forward, never back.
func (c *clock) moveTo(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.now) {
		c.now = at
	}
}

func (c *clock) add(d time.Duration) { c.moveTo(c.Now().Add(d)) }

// world is a deployment: a table, queues, an email service, and a clock. Tests start and kill
// processes in it.
type world struct {
	testing.TB
	clock
	db    delivery.Options // the table, independent of processes
	table string

	dynamo aws.Config
	cloud

	mu           sync.Mutex
	delayed      []delayed // messages that SQS delays, by the test's clock
	metrics, log output
}

type delayed struct {
	at   time.Time
	send func() error
}

// open returns the table with a configuration.
func (w *world) open(cfg aws.Config) delivery.Options {
	t := store.New(cfg, w.table, w.Now, rand.Reader)
	d, o := directory.New(t), outbox.New(t)
	in, th := inbox.New(o, d), threads.New(d, o)
	return delivery.Options{
		Accounts: accounts.New(t), Directory: d, Threads: th, Outbox: o, Inbox: in, Hooks: hooks.New(o), Deletion: deletion.New(th, in),
	}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		TB: t, clock: clock{now: time.UnixMilli(time.Now().UnixMilli())}, table: "delivery-" + rand.Text(),
		dynamo: localstacktest.Config(localstacktest.DynamoDB(t)), cloud: newCloud(t),
	}
	w.dynamo.HTTPClient = client
	w.db = w.open(w.dynamo)
	w.must(localstack.CreateTable(t.Context(), w.dynamo, w.table))
	return w
}

// client keeps its connections, as those of the functions do.
var client = localstacktest.Config("").HTTPClient

func (w *world) must(err error) {
	w.Helper()
	must.Do(w, err)
}

// did is must for calls with a further result.
func (w *world) did(_ any, err error) {
	w.Helper()
	must.Do(w, err)
}

// process is a run of deliver, which may be killed at one of its calls to AWS.
type process struct {
	*delivery.Deliverer
	ctx  context.Context
	kill context.CancelCauseFunc

	mu    sync.Mutex
	calls []string // calls so far
	// calls that changed something or directly follow such a call: other kills are equivalent
	steps  int
	wrote  bool // the last call may have changed something
	killAt killPoint
	flaw   *flaw             // of a call; may be nil
	actor  *interleave.Actor // pauses before shared calls; may be nil
	taken  func(text string) // called for each received message; may be nil
	mails  int               // sent
	marked int               // emails marked as sent
}

// killPoint is the call or the step before which a process is killed, from 1; 0 for none.
type killPoint struct{ call, step int }

// flaw kills the process before the first call that at selects, or makes the call fail.
type flaw struct {
	refused bool
	at      func(op string, body []byte) bool
	found   atomic.Bool
}

// Do handles all calls to the table.
func (p *process) Do(r *http.Request) (*http.Response, error) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if p.actor != nil && shared(op, body) {
		p.actor.Pause()
	}
	if f := p.flaw; f != nil && !f.found.Load() && f.at(op, body) && !f.found.Swap(true) {
		if f.refused {
			return storetest.Answer(http.StatusBadRequest, storetest.Failure("AccessDeniedException")), nil
		}
		p.kill(storetest.ErrKilled)
	}
	if err := p.call(op); err != nil {
		return nil, err
	}
	// a sent request completes
	response, err := client.Do(r.WithContext(context.WithoutCancel(r.Context())))
	p.mu.Lock()
	defer p.mu.Unlock()
	if op == "UpdateItem" && bytes.Contains(body, []byte(`"`+keys.EmailEndedAt+`"`)) {
		p.marked++
	}
	return response, err
}

// call starts a call.
func (p *process) call(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return storetest.ErrKilled
	}
	p.calls = append(p.calls, name)
	writes := name != "GetItem" && name != "BatchGetItem" && name != "Query"
	step := writes || p.wrote || len(p.calls) == 1
	if p.wrote = writes; step {
		p.steps++
	}
	if len(p.calls) == p.killAt.call || step && p.steps == p.killAt.step {
		p.kill(storetest.ErrKilled)
		return storetest.ErrKilled
	}
	return nil
}

// sqs provides the queues to a process, with delays by the test's clock.
type sqs struct {
	*world
	*process
}

func (q sqs) SendIn(_ context.Context, delay time.Duration, tasks ...collab.TaskRef) error {
	return q.send(delay, func() error { return q.world.tasks().SendIn(q.Context(), 0, tasks...) })
}

// tasks returns the queues.
func (w *world) tasks() queue.Tasks {
	return queue.Tasks{Events: w.events.Queue, Calls: w.calls.Queue}
}

// send sends messages now or later, as a call of the process.
func (q sqs) send(delay time.Duration, send func() error) error {
	if delay < 0 || delay > queue.MaxDelay {
		q.Errorf("a delay of %v", delay)
	}
	if err := q.call("SendMessageBatch"); err != nil || delay == 0 {
		return cmp.Or(err, send())
	}
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	q.delayed = append(q.delayed, delayed{q.Now().Add(delay), send})
	return nil
}

// ses provides the email service to a process.
type ses struct {
	*process
	mailer delivery.Mailer
}

func (s ses) Send(ctx context.Context, n mail.Email) error {
	if err := s.call("SendEmail"); err != nil {
		return err
	}
	err := s.mailer.Send(context.WithoutCancel(ctx), n) // a sent email arrives
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails++
	return err
}

// startWithoutMail starts a process with a sender that the email service refuses.
func (w *world) startWithoutMail() *process {
	w.Helper()
	return w.start(func(o *delivery.Options) { o.Mailer = w.mailer("nobody@unverified.example") })
}

func (w *world) start(change ...func(*delivery.Options)) *process {
	w.Helper()
	p := &process{}
	p.ctx, p.kill = context.WithCancelCause(w.Context())
	dynamo := w.dynamo
	dynamo.HTTPClient = p
	o := w.open(dynamo)
	o.Queue, o.Mailer = sqs{w, p}, ses{p, w.mailer(w.sender)}
	o.Guard = webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	o.Metrics, o.Log = metrics.New(&w.metrics, "test", w.Now), slog.New(slog.NewJSONHandler(&w.log, nil))
	o.Now, o.Random = w.Now, rand.Reader
	for _, c := range change {
		c(&o)
	}
	p.Deliverer = delivery.New(o)
	return p
}

// output collects concurrent writes.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// drain handles queued messages until there are none or the process is dead. Finally, it puts
// failed messages back. It returns the numbers of succeeded and failed messages.
func (w *world) drain(p *process) (done, failed int) {
	w.Helper()
	var back []func()
	for {
		n := 0
		for _, q := range []sqsQueue{w.events, w.calls} {
			messages, err := q.Receive(w.Context(), queue.MaxReceive, 0)
			w.must(err)
			n += len(messages)
			var wg sync.WaitGroup
			var mu sync.Mutex
			for _, m := range messages {
				wg.Go(func() {
					if p.taken != nil {
						p.taken(m.Text)
					}
					err := p.Take(p.ctx, m.Text)
					mu.Lock()
					defer mu.Unlock()
					if err == nil && p.ctx.Err() == nil {
						if err := q.Delete(w.Context(), m); err != nil {
							w.Log(err) // it became visible and was received again
						}
						done++
						return
					}
					failed++
					p.Log.Warn("message to come again", "cause", err)
					back = append(back, func() {
						if err := q.release(w.Context(), m); err != nil {
							w.Log(err) // the same
						}
					})
				})
			}
			wg.Wait()
		}
		if n == 0 || p.ctx.Err() != nil {
			for _, put := range back {
				put()
			}
			w.must(p.Metrics.Flush())
			return done, failed
		}
	}
}

// waiting returns the waiting tasks by the time of the relay's message.
func (w *world) waiting() []*task.Task {
	w.Helper()
	var refs []collab.TaskRef
	scan := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(w.dynamo), &dynamodb.ScanInput{
		TableName: &w.table, IndexName: aws.String(keys.IndexDue), ProjectionExpression: aws.String("pk, sk"),
		FilterExpression:          aws.String("NOT begins_with(due, :failed)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":failed": store.Text("DUE#" + keys.FailedTasks)},
	})
	for scan.HasMorePages() {
		page, err := scan.NextPage(context.WithoutCancel(w.Context()))
		w.must(err)
		for _, it := range page.Items {
			ref, err := keys.ParseTask(store.Item(it).Key())
			w.must(err)
			refs = append(refs, ref)
		}
	}
	all, err := w.db.Outbox.Tasks(context.WithoutCancel(w.Context()), refs...)
	w.must(err)
	slices.SortFunc(all, func(a, b *task.Task) int { return cmp.Compare(a.Next, b.Next) })
	return all
}

// notices returns the waiting notices, earliest due first.
func (w *world) notices() []*task.Task {
	w.Helper()
	return collab.Where(w.waiting(), func(t *task.Task) bool { return t.Kind == collab.NoticeTask })
}

// pending returns the waiting tasks that are not resting endpoints.
func (w *world) pending() []*task.Task { return w.waiting() }

// fewer is the table with only the partitions of the index that have a due task, to speed up the
// relay.
type fewer struct {
	*outbox.Store
	partitions map[string]bool
}

func (f fewer) Waiting(
	ctx context.Context, kind string, shard int, until collab.Millis, from string, limit int, skip func(error),
) ([]*task.Task, string, error) {
	if !f.partitions[keys.DuePartition(kind, shard)] {
		return nil, "", nil
	}
	return f.Store.Waiting(ctx, kind, shard, until, from, limit, skip)
}

// relay runs the relay once.
func (w *world) relay() {
	w.Helper()
	due := fewer{w.db.Outbox, map[string]bool{}}
	for _, t := range w.waiting() {
		due.partitions[keys.DueTask(string(t.Kind), 0, t.TaskRef).PK] = t.Next <= w.millis() || due.partitions[keys.DueTask(string(t.Kind), 0, t.TaskRef).PK]
	}
	r := pending.Relay{
		Store: due, Queue: w.tasks(), Log: slog.New(slog.NewJSONHandler(&w.log, nil)), Now: w.Now, Metrics: metrics.New(&w.metrics, "test", w.Now),
	}
	w.must(r.Run(w.Context()))
	w.must(r.Metrics.Flush())
}

// release queues the delayed messages that are due.
func (w *world) release() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delayed = slices.DeleteFunc(w.delayed, func(d delayed) bool {
		if d.at.After(w.Now()) {
			return false
		}
		w.must(d.send())
		return true
	})
}

// settle runs the process and the clock until nothing is left to do or the process is dead.
func (w *world) settle(p *process) {
	w.Helper()
	w.settleUntil(p, time.UnixMilli(collab.MaxMillis))
}

// run sends events, and settles them with a new process.
func (w *world) run(evs ...*collab.Event) {
	w.Helper()
	w.send(evs...)
	w.settle(w.start())
}

// settleUntil is settle up to a time.
func (w *world) settleUntil(p *process, end time.Time) {
	w.Helper()
	for range 400 + *duePeople {
		_, failed := w.drain(p)
		if p.ctx.Err() != nil {
			return
		}
		next := time.Time{}
		earlier := func(at time.Time) {
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
		if failed > 0 {
			earlier(w.Now().Add(time.Minute)) // repeated after the visibility timeout
		}
		for _, d := range w.delayed {
			earlier(d.at)
		}
		if tasks := w.waiting(); len(tasks) > 0 {
			at := time.UnixMilli(max(tasks[0].Next, w.millis()+1))
			earlier(at.Add(time.Minute - 1).Truncate(time.Minute)) // the relay runs every minute
		}
		if next.IsZero() {
			return
		}
		if next.After(end) {
			w.moveTo(end)
			return
		}
		w.moveTo(next)
		w.release()
		w.relay()
	}
	w.Fatalf("there is no end to it: pending %+v, delayed %+v, log:\n%s", w.pending(), w.delayed, &w.log)
}

// account is an account with the organization org and the document doc.
type account struct {
	*world
	id  string
	doc collab.DocumentRef
}

func (w *world) account(settings ...func(*collab.Settings)) *account {
	w.Helper()
	a := &account{world: w, id: strings.ToLower(rand.Text())}
	c := collab.Account{ID: a.id}
	for _, set := range settings {
		set(&c.Settings)
	}
	w.must(w.db.Accounts.AddAccount(w.Context(), c))
	var err error
	a.doc, err = w.db.Directory.OpenDocument(w.Context(), a.id, "org", "doc", collab.CreateFlags{Organization: true, Document: true})
	w.must(err)
	return a
}

// newAccount returns an account in a new world.
func newAccount(t testing.TB, settings ...func(*collab.Settings)) (*account, *world) {
	t.Helper()
	w := newWorld(t)
	return w.account(settings...), w
}

// address returns a unique email address.
func (a *account) address(user string) string { return user + "@" + a.id + ".example" }

// member adds a user as a member.
func (a *account) member(user string) {
	a.Helper()
	a.memberIs(a.user(user), "")
}

// memberIs adds a user as a member with a locale, "" for none.
func (a *account) memberIs(u collab.User, locale string) {
	a.Helper()
	in, is := collab.Resource{OrganizationRef: a.doc.OrganizationRef}, func(_ int, m *collab.Member) { m.User, m.Locale = u, locale }
	a.must(a.db.Directory.ChangeMembers(a.Context(), a.request(), in, []string{u.UserID}, true, is)[0])
}

// grant gives a user a grant on the document.
func (a *account) grant(user string) {
	a.Helper()
	on := []collab.Resource{{OrganizationRef: a.doc.OrganizationRef, Document: a.doc}}
	a.must(a.db.Directory.AddGrants(a.Context(), a.request(), user, on, []collab.Grant{{Role: collab.RoleViewer}}))
}

// provider sets the permission provider of the account.
func (a *account) provider(url, secret string) {
	a.Helper()
	a.must(a.db.Accounts.SetPermissionProvider(a.Context(), a.id, &collab.PermissionProvider{URL: url, Secret: secret}))
}

// put adds or changes a document.
func (a *account) put(document string, change func(*collab.Document)) {
	a.Helper()
	apply := func(_ int, d *collab.Document) error {
		change(d)
		return nil
	}
	err := a.db.Directory.AddDocuments(a.Context(), a.request(), a.doc.OrganizationRef, collab.RootFolder, []string{document}, apply)[0]
	if collab.CodeOf(err) == collab.AlreadyExists {
		err = a.db.Directory.ChangeDocuments(a.Context(), a.request(), a.doc.OrganizationRef, []string{document}, apply)[0]
	}
	a.must(err)
}

// email returns the task of the next email to a user.
func (a *account) email(user string) collab.TaskRef {
	a.Helper()
	for _, t := range a.notices() {
		n, err := outbox.NoticeOf(t)
		a.must(err)
		if n.For.Account == a.id && n.For.User == user {
			return t.TaskRef
		}
	}
	a.Fatalf("no email to %s waits", user)
	return collab.TaskRef{}
}

// user returns a user with an email address.
func (a *account) user(id string) collab.User {
	address := a.address(id)
	return collab.User{UserID: id, Email: &address}
}

// request returns a request of the account's back end.
func (a *account) request() *request.Request {
	r := storetest.Request(a.Now())
	r.Account = a.id
	return r
}

func (a *account) change(change func(*collab.Account)) {
	a.Helper()
	a.did(a.db.Accounts.ChangeAccount(a.Context(), a.id, func(c *collab.Account) error { change(c); return nil }))
}

// prefer sets the preferences of a user for documents, or for the organization if there are none.
func (a *account) prefer(user string, p collab.Preferences, documents ...string) {
	a.Helper()
	a.must(a.db.Directory.SetPreferences(a.Context(), a.doc.OrganizationRef, []string{user}, documents, p))
}

func (a *account) changeHook(id string, change func(*collab.Webhook)) {
	a.Helper()
	a.did(a.db.Hooks.UpdateWebhook(a.Context(), a.id, id, func(h *collab.Webhook) error { change(h); return nil }))
}

// event returns an event of the account that happens now.
func (a *account) event(kind collab.EventType) *collab.Event {
	ev := collab.In(a.doc)
	ev.ID, ev.Type, ev.Time, ev.Notify = a.request().IDs.Next(), kind, a.millis(), true
	return &ev
}

// draft is an event before recording, with its recipients.
type draft struct {
	*collab.Event
	People       []collab.User        // mentioned users, or recipients of a notification
	Notification *collab.Notification // of notification.added
}

var open = collab.JSON(`{"id":"OPEN"}`)

// tags returns the tags of users in a comment.
func tags(users ...collab.User) collab.JSON {
	list := collab.Map(users, func(u collab.User) collab.Tag { return collab.Tag{UserID: u.UserID, Contact: &u} })
	text, _ := json.Marshal(list)
	return text
}

// comment records a comment by ann that tags users. It starts the thread if needed, and sends
// nothing.
func (a *account) comment(thread string, tagged ...collab.User) *collab.Event {
	a.Helper()
	return a.says(thread, "a comment", tagged...)
}

// says is comment with a text.
func (a *account) says(thread, text string, tagged ...collab.User) *collab.Event {
	a.Helper()
	return a.record(thread, collab.CommentAdded, byAnn, collab.Comment{
		Text: &text, From: collab.JSON(`{"userId":"ann"}`), AuthorID: "ann", TaggedUserContacts: tags(tagged...),
	})
}

// byAnn and quiet are changes for record: an event by ann, and one that notifies nobody.
func byAnn(ev *draft) { ev.Actor = &collab.User{UserID: "ann"} }
func quiet(ev *draft) { ev.Notify = false }

// by returns a comment of a user with an address that tags users.
func (a *account) by(user string, tagged ...collab.User) collab.Comment {
	from, err := json.Marshal(a.user(user))
	a.must(err)
	return collab.Comment{Text: new("text"), From: from, AuthorID: user, TaggedUserContacts: tags(tagged...)}
}

// record records an event of a thread with added comments or another change. It sends nothing.
func (a *account) record(thread string, kind collab.EventType, change func(*draft), comments ...collab.Comment) *collab.Event {
	a.Helper()
	a.begin(thread)
	ev := a.event(kind)
	d := &draft{Event: ev}
	change(d)
	for i := range comments {
		comments[i].CreatedAt, comments[i].LastUpdated = ev.Time, ev.Time
		if d.People != nil {
			comments[i].TaggedUserContacts = tags(d.People...)
		}
	}
	made := func(head *collab.Annotation, comments []collab.Comment) *collab.Event {
		ids := ev.CommentIDs
		ev.Describe(kind, head)
		if ev.CommentIDs = nil; len(comments) > 0 {
			ev.AddComments(ev.Notify, comments...)
		} else if ev.CommentIDs = ids; ev.Notify {
			ev.Notifying = len(ids)
		}
		return ev
	}
	if len(comments) > 0 {
		a.did(a.db.Threads.AddComments(a.Context(), a.request(), a.doc, thread, collab.NewComments{Comments: comments, Event: made}))
		return ev
	}
	a.head(thread, func(head *collab.Annotation) *collab.Event { return made(head, nil) })
	return ev
}

// head changes the head of a thread, with an event unless it is nil.
func (a *account) head(thread string, change func(*collab.Annotation) *collab.Event) {
	a.Helper()
	a.must(errors.Join(a.db.Threads.UpdateAnnotations(a.Context(), a.request(), a.doc, []string{thread}, collab.AnnotationChange{
		Head: func(_ int, head *collab.Annotation, _ bool) (list []*collab.Event, err error) {
			if ev := change(head); ev != nil {
				list = append(list, ev)
			}
			return list, nil
		},
	})...))
}

// begin starts a thread if it does not exist.
func (a *account) begin(thread string) {
	a.Helper()
	err := a.db.Threads.AddAnnotation(a.Context(), a.request(), a.doc, &collab.Thread{Annotation: collab.Annotation{
		ID: thread, Status: open, StatusID: "OPEN", CreatedAt: a.millis(), LastUpdated: a.millis(),
	}}, collab.NewAnnotation{})
	if collab.CodeOf(err) != collab.AlreadyExists {
		a.must(err)
	}
}

// add adds a thread to the document, with an event unless it is nil. It sends nothing.
func (a *account) add(t *collab.Thread, ev *collab.Event) {
	a.Helper()
	a.must(a.db.Threads.AddAnnotation(a.Context(), a.request(), a.doc, t, collab.NewAnnotation{Event: ev}))
}

// notification records a notification of ann. It sends nothing.
func (a *account) notification(change func(*draft)) *collab.Event {
	a.Helper()
	ev := a.event(collab.NotificationAdded)
	n := collab.Notification{
		ID: ev.ID, DocumentID: "doc", Incarnation: a.doc.Incarnation,
		ActionUser: collab.User{UserID: "ann"}, Headline: "{actionUser} to {recipientUser}", CreatedAt: ev.Time,
	}
	ev.Actor = &n.ActionUser
	d := &draft{Event: ev, Notification: &n}
	change(d)
	ev.NotificationID = n.ID
	a.did(a.db.Inbox.AddNotification(a.Context(), a.request(), a.doc.OrganizationRef, n, d.People, ev))
	return ev
}

func (w *world) send(evs ...*collab.Event) {
	w.Helper()
	for _, ev := range evs {
		w.must(w.tasks().SendIn(w.Context(), 0, event(ev)))
	}
}

// run handles the message of a task.
func (p *process) take(ctx context.Context, ref collab.TaskRef) error {
	return p.Take(ctx, queue.Encode(ref))
}

// webhook adds an endpoint at a URL, for events of the types, or for all if there are none.
func (a *account) webhook(id, url string, types ...collab.EventType) {
	a.Helper()
	secret, err := webhook.NewSecret(rand.Reader)
	a.must(err)
	a.must(a.db.Hooks.AddWebhook(a.Context(), a.id, collab.MaxWebhooks, collab.Webhook{
		ID: id, URL: url, EventTypes: types, Secrets: []collab.WebhookSecret{{Secret: secret, CreatedAt: a.millis()}}, CreatedAt: a.millis(),
	}))
}

// inbox returns the ids of a user's notifications, newest first.
func (a *account) inbox(user string) []string {
	a.Helper()
	list, next, err := a.db.Inbox.Notifications(
		a.Context(), a.doc.OrganizationRef, collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}}, "", 1000,
	)
	a.must(err)
	if next != "" {
		a.Fatal("the inbox goes on")
	}
	ids := []string{}
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

// progress returns the progress of an endpoint.
func (a *account) progress(hook string) hooks.Progress {
	a.Helper()
	w, err := a.db.Hooks.Webhook(a.Context(), a.id, hook)
	a.must(err)
	t, err := a.db.Outbox.Task(a.Context(), hooks.EndpointTask(a.id, hook))
	a.must(err)
	p, err := hooks.ProgressOf(t, w)
	a.must(err)
	return p
}

func (a *account) endpoint(hook string) collab.EndpointRef {
	a.Helper()
	w, err := a.db.Hooks.Webhook(a.Context(), a.id, hook)
	a.must(err)
	return collab.EndpointRef{Account: a.id, WebhookID: hook, CreatedAt: w.CreatedAt}
}

// delivery returns the delivery of an event to an endpoint.
func (a *account) delivery(hook, event string) collab.Delivery {
	a.Helper()
	d, err := a.db.Hooks.Delivery(a.Context(), a.endpoint(hook), event)
	a.must(err)
	return d
}

// checkDelivered checks that events were delivered to an endpoint after a number of attempts; 0 for
// any.
func (a *account) checkDelivered(hook string, attempts int, evs ...*collab.Event) {
	a.Helper()
	for _, ev := range evs {
		if d := a.delivery(hook, ev.ID); d.State != collab.DeliveryDelivered || attempts > 0 && len(d.Attempts) != attempts {
			a.Errorf("delivery %+v", d)
		}
	}
}

// deliver adds a delivery of an event to an endpoint, as the event's run does.
func (a *account) deliver(hook string, ev *collab.Event) collab.Delivery {
	a.Helper()
	d := collab.Delivery{
		WebhookID: hook, EventID: ev.ID, Type: ev.Type, State: collab.DeliveryPending, NextAttempt: ev.Time, CreatedAt: ev.Time, LastUpdated: ev.Time,
	}
	a.must(a.db.Hooks.AddDelivery(a.Context(), a.endpoint(hook), d))
	return d
}

// work returns the task of an event, or nil if its delivery is done.
func (w *world) work(ev *collab.Event) *task.Task {
	w.Helper()
	t, err := w.db.Outbox.Task(context.WithoutCancel(w.Context()), event(ev))
	if w.must(err); t == nil || t.Due == 0 || t.Failed {
		return nil
	}
	return t
}

// receiver is a back end that receives posts.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	list []post
}

type post struct {
	path string
	id   string // the header webhook-id
	body string
}

// receive starts a receiver. A nil answer responds with 204.
func receive(t testing.TB, answer http.HandlerFunc) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Errorf("receiver: %v", err)
		}
		r.mu.Lock()
		r.list = append(r.list, post{req.URL.Path, req.Header.Get("webhook-id"), string(body)})
		req.Body = io.NopCloser(bytes.NewReader(body))
		r.mu.Unlock()
		if answer == nil {
			rw.WriteHeader(http.StatusNoContent)
			return
		}
		answer(rw, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// hooked starts a receiver, and adds it as the account's endpoint "hook" with the path /hook.
func (a *account) hooked(answer http.HandlerFunc) *receiver {
	a.Helper()
	r := receive(a, answer)
	a.webhook("hook", r.URL+"/hook")
	return r
}

// posts returns the posts so far, in order.
func (r *receiver) posts() []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// got returns the number of posts to a path by event.
func (r *receiver) got(path string) map[string]int {
	ids := map[string]int{}
	for _, p := range r.posts() {
		if p.path == path {
			ids[p.id]++
		}
	}
	return ids
}

// most counts concurrent requests and their maximum.
type most struct {
	mu       sync.Mutex
	now, max int
}

func (m *most) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += n
	m.max = max(m.max, m.now)
}

func (m *most) read() (now, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now, m.max
}

// failing responds to the first n posts of each event to each path with a status, then with 204.
func failing(n, status int) http.HandlerFunc {
	var mu sync.Mutex
	seen := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.URL.Path + " " + r.Header.Get("webhook-id")
		if seen[key]++; seen[key] <= n {
			w.WriteHeader(status)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// figures returns the sums of flushed metrics by channel and name.
func (w *world) figures() map[string]float64 {
	w.Helper()
	sums := map[string]float64{}
	for line := range strings.Lines(w.metrics.String()) {
		var figures map[string]any
		w.must(json.Unmarshal([]byte(line), &figures))
		channel, _ := figures["Channel"].(string)
		for name, value := range figures {
			if n, ok := value.(float64); ok {
				sums[strings.TrimSpace(channel+" "+name)] += n
			}
		}
	}
	return sums
}

// event returns the task of an event.
func event(ev *collab.Event) collab.TaskRef { return outbox.EventTask(ev.Account, ev.ID) }

func ref(ev *collab.Event) collab.EventRef { return collab.EventRef{Account: ev.Account, ID: ev.ID} }
