package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// PermissionProvider reads the permission provider of an account; nil where it has none: members and document access decide.
func (s *Store) PermissionProvider(ctx context.Context, acct string) (*collab.PermissionProvider, error) {
	p, exists, err := store.Read[collab.PermissionProvider](ctx, s.Table, table.PermissionProvider(acct))
	if err != nil || !exists {
		return nil, err
	}
	return &p, nil
}

// SetPermissionProvider writes the permission provider of an account, nil for none. The account is not checked.
func (s *Store) SetPermissionProvider(ctx context.Context, acct string, p *collab.PermissionProvider) error {
	k := table.PermissionProvider(acct)
	if p == nil {
		return s.Delete(ctx, k)
	}
	_, err := store.Rewrite(ctx, s.Table, k, "the permission provider", func(is *collab.PermissionProvider, _ bool) error {
		*is = *p
		return nil
	})
	return err
}
