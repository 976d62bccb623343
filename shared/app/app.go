// Package app assembles the service. It is the only package below shared that reads the
// environment, and the source of the clock and of randomness.
package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/api"
	"collabdata/shared/api/auth"
	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/jobs"
	liveapi "collabdata/shared/api/live"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/users"
	"collabdata/shared/api/webhooks"
	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/live"
	"collabdata/shared/platform"
	"collabdata/shared/queue"
	"collabdata/shared/quota"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/connections"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Config configures a Service.
type Config struct {
	DynamoDB  aws.Config // access to the table
	SQS       aws.Config // access to the queues
	Table     string     // name of the table
	EventsURL string     // URL of the events queue
	LiveURL   string     // ws: or wss: URL for pages; "" if there is none

	Stage         string              // issuer of personal tokens
	Headers       credentials.Headers // headers of the credentials
	PrivateRanges []netip.Prefix      // allowed webhook targets besides public addresses
	ReadOnly      bool                // refuses writing operations, see rpc.Server
	AuditDays     int                 // that the audit log keeps acts; 0 for collab.DefaultAuditDays

	Log    *slog.Logger
	Now    func() time.Time                           // time.Now if nil
	Sleep  func(context.Context, time.Duration) error // see store.Table.Sleeping; a real sleep if nil
	Random io.Reader                                  // crypto/rand if nil

	disabled bool // see WithDisabled
}

// Service is the assembled service.
type Service struct {
	Accounts  *accounts.Store
	Directory *directory.Store
	Threads   *threads.Store
	Outbox    *outbox.Store
	Hooks     *hooks.Store
	Inbox     *inbox.Store
	Deletion  *deletion.Store
	Tasks     queue.Tasks
	Guard     *webhook.Guard // allowed webhook targets

	config Config
	keys   credentials.KeyStore
	access *access.Checker
	quotas *quota.Ledger
}

// New assembles the service. It makes no calls, so the table and the queues need not exist yet.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	t := store.New(c.DynamoDB, c.Table, c.Now, c.Random).WithBreaker()
	if c.Sleep != nil {
		t = t.Sleeping(c.Sleep)
	}
	a := accounts.New(t)
	d := directory.New(t)
	if c.disabled {
		d = d.WithDisabled()
	}
	o := outbox.New(t)
	in := inbox.New(o, d)
	th := threads.New(d, o)
	guard := webhook.NewGuard(c.PrivateRanges)
	return &Service{
		Accounts:  a,
		Directory: d,
		Threads:   th,
		Outbox:    o,
		Hooks:     hooks.New(o),
		Inbox:     in,
		// jobs also run for disabled organizations and documents
		Deletion: deletion.New(th, inbox.New(o, d.WithDisabled())),
		Tasks:    queue.Tasks{Events: queue.New(c.SQS, c.EventsURL, c.Log), Silent: cache.NewBreaker(1, queue.SilentPause, c.Now)},
		Guard:    guard,
		config:   c,
		keys:     credentials.Cached(a, c.Now),
		access:   access.New(d, a, guard, webhook.ClientOptions{}, c.Now, c.Log),
		quotas:   &quota.Ledger{Store: a, Now: c.Now, Log: c.Log},
	}
}

// Config returns the configuration of the service.
func (s *Service) Config() Config { return s.config }

// WithDisabled returns the service for an operator: it treats disabled organizations and documents
// as enabled.
func (s *Service) WithDisabled() *Service {
	c := s.config
	c.disabled = true
	return New(c)
}

// Handler serves all endpoints without a gateway. It gives each request an id and the time limit of
// a function.
func (s *Service) Handler() http.Handler {
	server := s.server()
	return s.handler(server, s.identify(server))
}

func (s *Service) endpoint(e rpc.Endpoint) http.Handler {
	server := s.server()
	h := e.Handler(server, s.services())
	if e.Public {
		return h
	}
	return s.identify(server)(h)
}

// identify checks the credentials of requests. It caches them for credentials.TTL.
func (s *Service) identify(server *rpc.Server) func(http.Handler) http.Handler {
	checker := &credentials.Checker{
		Keys: s.keys, Now: s.config.Now, Headers: s.config.Headers, Stage: s.config.Stage,
	}
	return func(next http.Handler) http.Handler { return auth.Require(checker, server, next) }
}

// HandlerFor is Handler for callers without credentials: a caller with access to the table may act
// for any account.
func (s *Service) HandlerFor(id collab.Identity) http.Handler {
	return s.handler(s.server(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(collab.WithIdentity(r.Context(), id)))
		})
	})
}

// Call calls an endpoint in process, in the name of an identity. See rpc.Server.Call.
func (s *Service) Call(ctx context.Context, e rpc.Endpoint, id collab.Identity, request any) (*rpc.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, platform.OperationTime)
	defer cancel()
	return s.server().Call(ctx, e, s.services(), id, request)
}

func (s *Service) handler(server *rpc.Server, identify func(http.Handler) http.Handler) http.Handler {
	all := api.Handler(server, s.services(), identify)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), platform.OperationTime)
		defer cancel()
		id := rand.Text()
		ctx = collab.WithRequestID(ctx, id)
		w.Header().Set(collab.RequestIDHeader, id)
		all.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (s *Service) server() *rpc.Server {
	return &rpc.Server{
		Now: s.config.Now, Random: s.config.Random, Log: s.config.Log, Idempotency: s.Accounts, Quotas: s.quotas,
		ReadOnly: s.config.ReadOnly, Directory: s.Directory, Send: s.Tasks.Send, Audit: s.Audit,
	}
}

// Audit stores an act: see rpc.Server.
func (s *Service) Audit(ctx context.Context, a collab.Act) error {
	return s.Accounts.Audit(ctx, a, cmp.Or(s.config.AuditDays, collab.DefaultAuditDays))
}

func (s *Service) services() rpc.Services {
	return rpc.Services{
		&commentannotations.Service{Directory: s.Directory, Threads: s.Threads, Access: s.access, Inbox: s.Inbox},
		&organizations.Service{Directory: s.Directory, Deletion: s.Deletion},
		&users.Service{Directory: s.Directory, Access: s.access, Erasure: s.Deletion.Erasure, Jobs: s.Outbox},
		&auth.Service{Directory: s.Directory, Accounts: s.Accounts, Stage: s.config.Stage},
		&notifications.Service{
			Accounts: s.Accounts, Directory: s.Directory, Inbox: s.Inbox, Deletion: s.Deletion, Threads: s.Threads, Access: s.access,
		},
		&jobs.Service{Jobs: s.Outbox},
		&liveapi.Service{
			URL: s.config.LiveURL, Rule: live.Rule{Directory: s.Directory, Access: s.access}, Connections: connections.Store{Table: s.Directory.Table},
			Keys: s.keys,
		},
		&webhooks.Service{
			Store: s.Hooks, CheckURL: s.Guard.CheckURL, NewSecret: func() (string, error) { return webhook.NewSecret(s.config.Random) },
		},
	}
}
