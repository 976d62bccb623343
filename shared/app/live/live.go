// Package live assembles the functions that send changes to pages: one for connections, one for the
// table's stream. It is separate from package app because it links the client of the gateway, which
// no endpoint needs.
package live

import (
	"crypto/rand"
	"log/slog"
	"net/netip"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/credentials"
	rules "collabdata/shared/live"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/connections"
	"collabdata/shared/store/directory"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Config configures the functions.
type Config struct {
	Stage         string     // name of the deployment
	DynamoDB      aws.Config // access to the table
	Table         string     // name of the table
	Gateway       rules.Gateway
	PrivateRanges []netip.Prefix // allowed permission providers besides public addresses
	Log           *slog.Logger
	Now           func() time.Time // time.Now if nil
}

const lap = 334 * time.Millisecond // three hints a second

// New assembles the functions. It makes no calls.
func New(c Config) (*rules.Pages, *rules.Hints) {
	if c.Now == nil {
		c.Now = time.Now
	}
	t := store.New(c.DynamoDB, c.Table, c.Now, rand.Reader)
	a, d, stored := accounts.New(t), directory.New(t), connections.Store{Table: t}
	rule := rules.Rule{
		Directory: d, Access: access.New(d, a, webhook.NewGuard(c.PrivateRanges), webhook.ClientOptions{}, c.Now, c.Log),
	}
	return &rules.Pages{Rule: rule, Keys: credentials.Cached(a, c.Now), Connections: stored, Gateway: c.Gateway, Now: c.Now, Log: c.Log},
		&rules.Hints{Rule: rule, Accounts: a, Connections: stored, Gateway: c.Gateway, Log: c.Log, Lap: lap}
}
