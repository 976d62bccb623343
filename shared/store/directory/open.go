package directory

import (
	"context"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// CacheTTL is how long a process trusts that an organization or document exists, enabled, in an
// incarnation. For as long after a deletion, other processes may still use it, and its id cannot be
// added again.
const CacheTTL = 5 * time.Second

const mostCached = 20_000

type state struct {
	Disabled    bool          `dynamodbav:"off"`
	Incarnation int64         `dynamodbav:"inc"`
	DeletedAt   collab.Millis `dynamodbav:"del"` // 0 if not deleted
}

// open returns the incarnation of an item that was read at a time, and caches it. It returns
// NOT_FOUND if the item is missing or deleted, and FAILED_PRECONDITION if it is disabled. subject
// names it in errors.
func (s *Store) open(it store.Item, subject string, at time.Time) (incarnation int64, err error) {
	state, err := s.readState(it)
	switch {
	case err != nil:
		return 0, err
	case it == nil || state.DeletedAt != 0:
		return 0, collab.Errorf(collab.NotFound, "%s does not exist", subject)
	case state.Disabled:
		return 0, collab.Errorf(collab.FailedPrecondition, "%s is disabled", subject)
	}
	s.cached.Put(it.Key(), opened{state.Incarnation, it[keys.Removals] != nil}, at.Add(CacheTTL))
	return state.Incarnation, nil
}

func (s *Store) readState(it store.Item) (result state, err error) {
	err = it.Decode(&result)
	result.Disabled = result.Disabled && !s.disabled
	return result, err
}

// opened holds data that a process remembers about an enabled organization or document.
type opened struct {
	incarnation int64
	removals    bool // it has the flag Removals
}

// Forget makes the next request read an organization or document.
func (s *Store) Forget(k keys.Key) { s.cached.Expire(k) }

// seek reads items in an organization, and the organization itself unless it is cached. It makes
// one round trip, and a second, strongly consistent one if something is missing. itemKeys returns
// the keys in an incarnation, first the one that seek assumes. It returns the errors of Open.
func (s *Store) seek(
	ctx context.Context, acct, id string, itemKeys func(collab.OrganizationRef) []keys.Key,
) (org collab.OrganizationRef, found map[keys.Key]store.Item, err error) {
	itself, now := keys.Organization(acct, id), s.Now()
	_, cached := s.cached.Get(itself, now)
	likely, ok := s.cached.Last(itself)
	org = collab.OrganizationRef{Account: acct, Organization: id, Incarnation: likely.incarnation}
	var ask []keys.Key
	if ok {
		ask = itemKeys(org)
	}
	if !cached {
		ask = append(ask[:len(ask):len(ask)], itself)
	}
	if found, err = s.GetSettled(ctx, ask); err != nil || cached {
		return org, found, err
	}
	incarnation, err := s.open(found[itself], organizationNamed(id), now)
	if err != nil || ok && incarnation == likely.incarnation {
		return org, found, err
	}
	org.Incarnation = incarnation
	found, err = s.GetSettled(ctx, itemKeys(org))
	return org, found, err
}

// OpenOrganization returns an existing, enabled organization. It returns NOT_FOUND or
// FAILED_PRECONDITION otherwise. It may miss a change for CacheTTL.
func (s *Store) OpenOrganization(ctx context.Context, acct, id string) (collab.OrganizationRef, error) {
	org, _, err := s.Open(ctx, acct, id, "", nil)
	return org, err
}

// OpenOrCreateOrganization is OpenOrganization, except that it adds a missing organization if
// create is true: see OpenDocument.
func (s *Store) OpenOrCreateOrganization(ctx context.Context, acct, id string, create bool) (collab.OrganizationRef, error) {
	org, err := s.OpenOrganization(ctx, acct, id)
	if create && collab.CodeOf(err) == collab.NotFound {
		return s.createOrganization(ctx, acct, id)
	}
	return org, err
}

// OpenDocument returns an existing, enabled document. It adds a missing organization, named by its
// id, or a missing document, outside any folder, if create allows it. Otherwise it returns the
// errors of OpenOrganization, also for the document. It returns UNAVAILABLE if the missing one was
// deleted less than CacheTTL ago.
func (s *Store) OpenDocument(ctx context.Context, acct, organization, id string, create collab.CreateFlags) (collab.DocumentRef, error) {
	org, found, err := s.openDocuments(ctx, acct, organization, "", []string{id}, false)
	if collab.CodeOf(err) == collab.NotFound && create.Organization {
		org, err = s.createOrganization(ctx, acct, organization)
	}
	switch {
	case err != nil:
		return collab.DocumentRef{}, err
	case len(found) > 0:
		return found[0], nil
	case !create.Document:
		return collab.DocumentRef{}, collab.NoDocument(organization, id)
	}
	return s.createDocument(ctx, org, id, create.Name)
}

// Open returns an organization like OpenOrganization, and the existing, enabled ones of documents
// in their order, nil for nil. If folder is set, they must be directly in it; collab.RootFolder
// holds documents outside folders. It also returns NOT_FOUND if the folder does not exist. It makes
// one round trip, none if all is cached, two if something is missing.
func (s *Store) Open(
	ctx context.Context, acct, organization, folder string, documents []string,
) (collab.OrganizationRef, []collab.DocumentRef, error) {
	return s.openDocuments(ctx, acct, organization, folder, documents, true)
}

// openDocuments is Open. Unless skip is true, it fails if a document is disabled.
func (s *Store) openDocuments(
	ctx context.Context, acct, organization, folder string, ids []string, skip bool,
) (collab.OrganizationRef, []collab.DocumentRef, error) {
	now := s.Now()
	inFolder := folder != "" && folder != collab.RootFolder
	org, found, err := s.seek(ctx, acct, organization, func(org collab.OrganizationRef) (itemKeys []keys.Key) {
		if inFolder {
			itemKeys = append(itemKeys, keys.Folder(org, folder))
		}
		for _, id := range ids {
			k := keys.Document(org, id)
			if _, ok := s.cached.Get(k, now); folder != "" || !ok {
				itemKeys = append(itemKeys, k)
			}
		}
		return itemKeys
	})
	if err != nil {
		return org, nil, err
	}
	if it := found[keys.Folder(org, folder)]; inFolder && (it == nil || it[keys.DeletedAt] != nil) {
		return org, nil, folderMissing(folder)
	}
	if ids == nil {
		return org, nil, nil
	}
	list := make([]collab.DocumentRef, 0, len(ids))
	for _, id := range ids {
		k := keys.Document(org, id)
		last, ok := s.cached.Get(k, now)
		incarnation := last.incarnation
		if it := found[k]; folder != "" || !ok {
			if it != nil && folder != "" && it.Text(keys.Parent) != folder {
				continue
			}
			incarnation, err = s.open(it, documentNamed(id), now)
			if code := collab.CodeOf(err); code == collab.NotFound || skip && code == collab.FailedPrecondition {
				continue
			}
			if err != nil {
				return org, nil, err
			}
		}
		list = append(list, collab.DocumentRef{OrganizationRef: org, Document: id, Incarnation: incarnation})
	}
	return org, list, nil
}

// Current returns the documents that exist in this incarnation and are enabled. It returns the
// errors of Open.
func (s *Store) Current(
	ctx context.Context, org collab.OrganizationRef, documents []collab.DocumentRef,
) (map[collab.DocumentRef]bool, error) {
	ids := collab.Map(documents, func(d collab.DocumentRef) string { return d.Document })
	slices.Sort(ids)
	_, found, err := s.Open(ctx, org.Account, org.Organization, "", slices.Compact(ids))
	current := make(map[collab.DocumentRef]bool, len(found))
	for _, d := range found {
		current[d] = true
	}
	return current, err
}

// CheckOrganization returns NOT_FOUND if the organization does not exist in this incarnation, and
// the errors of OpenOrganization.
func (s *Store) CheckOrganization(ctx context.Context, org collab.OrganizationRef) error {
	current, err := s.OpenOrganization(ctx, org.Account, org.Organization)
	if err == nil && current != org {
		err = collab.Errorf(collab.NotFound, "%s does not exist", organizationNamed(org.Organization))
	}
	return err
}
