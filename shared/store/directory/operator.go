package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// DeleteAPIKey deletes an API key with its tokens, and returns whose it was; NOT_FOUND when it does not exist.
func (s *Store) DeleteAPIKey(ctx context.Context, key string) (account string, err error) {
	it, err := s.key(ctx, key)
	if err != nil {
		return "", err
	}
	refused, err := s.Write(ctx, s.RemoveExisting(table.APIKey(key)), s.Remove(table.AccountAPIKey(it.Account, key)))
	if err == nil && refused != nil {
		err = keyMissing()
	}
	return it.Account, err
}

// DeleteAccount deletes an account, its API keys first. It fails with NOT_FOUND when the account does not exist, and with
// FAILED_PRECONDITION, before anything is deleted, while the account has organizations, whose data nobody could reach any more, or while
// it is enabled, as requests under way could make one.
func (s *Store) DeleteAccount(ctx context.Context, id string) error {
	a, err := s.Account(ctx, id)
	if err != nil {
		return err
	}
	if !a.Disabled {
		return collab.Errorf(collab.FailedPrecondition, "account %q is enabled: disable it a minute before", id)
	}
	for _, err := range s.ListOrganizations(ctx, id, "", 0) {
		if err != nil {
			return err
		}
		return collab.Errorf(collab.FailedPrecondition, "account %q has organizations: their data would stay, and belong to nobody", id)
	}
	keys, err := s.APIKeys(ctx, id)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := s.DeleteAPIKey(ctx, key); err != nil && collab.CodeOf(err) != collab.NotFound {
			return err
		}
	}
	refused, err := s.Write(ctx, s.RemoveExisting(table.Account(id)), s.Remove(table.AccountEntry(id)))
	if err == nil && refused != nil {
		err = accountMissing(id)
	}
	return err
}
