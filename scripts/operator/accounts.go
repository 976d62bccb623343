package operator

import (
	"context"
	"io"
	"time"

	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/request"
	"collabdata/shared/store/directory"
)

// What is asked before something that interrupts others, with the account and the organization.
const (
	AskDisableAccount      = "The back ends of account %q will be refused within 60 s, and its deliveries wait."
	AskDeleteKey           = "Back ends of account %q that use this API key will be refused within 60 s, for good."
	AskDisableOrganization = "Every operation on organization %q of account %q will be refused within 5 s."
	AskDeleteOrganization  = "Organization %q of account %q will be deleted with all that is in it, and webhooks are told."
)

// Call is a request of an account, as one with its credentials makes it.
func Call(now time.Time, random io.Reader, account string) *rpc.Call {
	seed := make([]byte, 16)
	_, _ = random.Read(seed) // crypto/rand never fails
	return &rpc.Call{Request: &request.Request{Identity: collab.Identity{Account: account}, Now: now, IDs: collab.NewIDs(now, seed)}}
}

// Done returns the error of a call about one thing, or of that thing.
func Done[T interface{ Err() error }](items rpc.Keyed[T], err error) error {
	if err != nil || len(items) == 0 {
		return err
	}
	return items[0].Value.Err()
}

// SetAccountDisabled disables an account or enables it, and returns it; NOT_FOUND when it does not exist.
func SetAccountDisabled(ctx context.Context, d *directory.Store, account string, disabled bool) (collab.Account, error) {
	return d.ChangeAccount(ctx, account, func(a *collab.Account) error {
		a.Disabled = disabled
		return nil
	})
}

// SetOrganizationDisabled disables an organization of the call's account or enables it, by the operation.
func SetOrganizationDisabled(ctx context.Context, d *directory.Store, call *rpc.Call, organization string, disabled bool) error {
	service := organizations.Service{Directory: d}
	update := &organizations.DisableStateUpdateRequest{OrganizationIDs: []string{organization}, Disabled: disabled}
	return Done(service.DisableStateUpdate(ctx, call, update))
}
