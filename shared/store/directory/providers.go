package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// providerItem is the item of an account's permission provider. It lies apart from the account's settings, which more functions may read.
type providerItem struct {
	URL    string `dynamodbav:"url"`
	Secret string `dynamodbav:"secret"`
}

// PermissionProvider reads the permission provider of an account; nil where it has none: members and document access decide.
func (s *Store) PermissionProvider(ctx context.Context, acct string) (*collab.PermissionProvider, error) {
	p, exists, err := store.Read[providerItem](ctx, s.Table, table.PermissionProvider(acct))
	if err != nil || !exists {
		return nil, err
	}
	return (*collab.PermissionProvider)(&p), nil
}

// SetPermissionProvider writes the permission provider of an account, nil for none. The account is not checked.
func (s *Store) SetPermissionProvider(ctx context.Context, acct string, p *collab.PermissionProvider) error {
	k := table.PermissionProvider(acct)
	if p == nil {
		return s.Delete(ctx, k)
	}
	_, err := store.Rewrite(ctx, s.Table, k, "the permission provider", func(it *providerItem, _ bool) error {
		*it = providerItem(*p)
		return nil
	})
	return err
}
