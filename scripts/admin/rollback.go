package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collabdata/shared/store"
	"collabdata/shared/store/directory"

	"github.com/aws/smithy-go"
)

type organizationRollback struct {
	organization
	From  string  `required:"" placeholder:"TABLE" help:"Table to take it from: one that was restored from a backup."`
	Units float64 `default:"1000" help:"Capacity units that it uses in a second, of both tables together."`
}

// rollbackAfter is how long an organization has been disabled before it is rolled back: until then requests that began before may write.
const rollbackAfter = 35 * time.Second

// Validate reports a pace that leads nowhere.
func (c *organizationRollback) Validate() error {
	if c.Units < 1 {
		return fmt.Errorf("--units must be 1 or more")
	}
	return nil
}

// Run makes the organization what it is in the other table.
func (c *organizationRollback) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := checkAccount(ctx, s, c.Account); err != nil {
		return err
	}
	if c.From == s.Name() {
		return fmt.Errorf("%s is the deployment's own table: name the one to restore from", c.From)
	}
	there, err := s.Organizations(ctx, string(c.Account), []string{string(c.Organization)})
	if err != nil {
		return err
	}
	for _, o := range there {
		if !o.Disabled {
			return fmt.Errorf("organization %q is enabled, so that it may change meanwhile: first admin organization disable %s %s",
				o.ID, word(c.Account), word(c.Organization))
		}
		if since := a.now().Sub(time.UnixMilli(o.LastUpdated)); since < rollbackAfter {
			return fmt.Errorf("organization %q was disabled %.0f s ago, and requests that began before may still write: try again in %.0f s",
				o.ID, since.Seconds(), (rollbackAfter-since).Seconds()+1)
		}
	}
	if err := a.confirm("Organization %q of account %q becomes what it is in table %s: what it wrote since is lost.", c.Organization, c.Account, c.From); err != nil {
		return err
	}
	cfg, err := a.deployment.connect(ctx)
	if err != nil {
		return err
	}
	from := store.New(cfg, c.From, a.now, a.random)
	done, err := s.RestoreOrganization(ctx, from, c.ref(), c.Units)
	if refused, ok := errors.AsType[smithy.APIError](err); ok && refused.ErrorCode() == "ResourceNotFoundException" {
		return fmt.Errorf("there is no table %s in this region", c.From)
	}
	if err != nil {
		a.say(
			"%d items were put and %d removed. Until the command has been given again, and succeeds, the organization is neither as it was nor as it is there.",
			done.Put, done.Removed,
		)
		return err
	}
	a.record("organization", string(c.Organization), "put", done.Put, "removed", done.Removed)
	a.say("It is as it was then, enabled or not. Nobody is told of what comes back.")
	return nil
}
