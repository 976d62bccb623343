// Package live puts together what tells pages of changes: the functions of their connections, and of the table's stream. It is apart from
// package app as it links the gateway's client, which no endpoint needs.
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

// Config is what they are put together from.
type Config struct {
	Stage         string     // which deployment this is
	DynamoDB      aws.Config // how to reach the table
	Table         string     // the table's name
	Gateway       rules.Gateway
	PrivateRanges []netip.Prefix // where permission providers may be beside public addresses
	Log           *slog.Logger
	Now           func() time.Time // nil for the clock
}

const lap = 334 * time.Millisecond // three hints a second

// New puts them together. It calls nothing.
func New(c Config) (*rules.Pages, *rules.Hints) {
	if c.Now == nil {
		c.Now = time.Now
	}
	t := store.New(c.DynamoDB, c.Table, c.Now, rand.Reader)
	a, d, kept := accounts.New(t), directory.New(t), connections.Store{Table: t}
	rule := rules.Rule{
		Directory: d, Access: access.New(d, a, webhook.NewGuard(c.PrivateRanges), webhook.ClientOptions{}, c.Now, c.Log),
	}
	return &rules.Pages{Rule: rule, Keys: credentials.Cached(a, c.Now), Connections: kept, Gateway: c.Gateway, Now: c.Now, Log: c.Log},
		&rules.Hints{Connections: kept, Gateway: c.Gateway, Log: c.Log, Lap: lap}
}
