package directory

import (
	"context"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// CacheTTL is how long a process trusts what it read of an organization or a document: that it exists, enabled, and in which incarnation.
// For as long after a deletion other processes may still read and write what was deleted, and its id cannot be added anew.
const CacheTTL = 5 * time.Second

// mostCached is how many organizations and documents are cached at most.
const mostCached = 20_000

// state is what opening an organization or a document looks at.
type state struct {
	Disabled    bool          `dynamodbav:"off"`
	Incarnation int64         `dynamodbav:"inc"`
	DeletedAt   collab.Millis `dynamodbav:"del"` // 0 where it is not deleted
}

// open reads the incarnation of an item as it was read at a time, nil for none, and caches it. It fails with NOT_FOUND where there is
// none, or a deleted one, and with FAILED_PRECONDITION where it is disabled; what says what it is, as a caller knows it.
func (s *Store) open(it store.Item, what string, at time.Time) (incarnation int64, err error) {
	of, err := s.readState(it)
	switch {
	case err != nil:
		return 0, err
	case it == nil || of.DeletedAt != 0:
		return 0, collab.Errorf(collab.NotFound, "%s does not exist", what)
	case of.Disabled:
		return 0, collab.Errorf(collab.FailedPrecondition, "%s is disabled", what)
	}
	s.cached.Put(it.Key(), of.Incarnation, at.Add(CacheTTL))
	if it[keys.Removals] != nil {
		s.noteRemovals(it.Key())
	}
	return of.Incarnation, nil
}

func (s *Store) readState(it store.Item) (of state, err error) {
	err = it.Decode(&of)
	of.Disabled = of.Disabled && !s.disabled
	return of, err
}

// Forget takes an organization or a document out of the cache, by its item.
func (s *Store) Forget(k keys.Key) { s.cached.Forget(k) }

// seek reads items in an organization, and the organization itself where it is not cached, in one round trip, and in two where something is
// missing: the second look is strongly consistent. itemKeys are those in an incarnation, of which a process that has not seen the
// organization before asks first. It fails like Open.
func (s *Store) seek(
	ctx context.Context, acct, id string, itemKeys func(collab.OrganizationRef) []keys.Key,
) (org collab.OrganizationRef, found map[keys.Key]store.Item, err error) {
	itself, now := keys.Organization(acct, id), s.Now()
	_, cached := s.cached.Get(itself, now)
	likely, seen := s.cached.Last(itself)
	org = collab.OrganizationRef{Account: acct, Organization: id, Incarnation: likely}
	var ask []keys.Key
	if seen {
		ask = itemKeys(org)
	}
	if !cached {
		ask = append(ask[:len(ask):len(ask)], itself)
	}
	if found, err = s.GetSettled(ctx, ask); err != nil || cached {
		return org, found, err
	}
	incarnation, err := s.open(found[itself], organizationNamed(id), now)
	if err != nil || seen && incarnation == likely {
		return org, found, err
	}
	org.Incarnation = incarnation
	found, err = s.GetSettled(ctx, itemKeys(org))
	return org, found, err
}

// OpenOrganization returns an organization that exists and is enabled. It fails with NOT_FOUND or FAILED_PRECONDITION; it may take CacheTTL
// to hear of either.
func (s *Store) OpenOrganization(ctx context.Context, acct, id string) (collab.OrganizationRef, error) {
	org, _, err := s.Open(ctx, acct, id, "", nil)
	return org, err
}

// OpenOrCreateOrganization is OpenOrganization, but with create it adds a missing one, with its id as its name: see OpenDocument.
func (s *Store) OpenOrCreateOrganization(ctx context.Context, acct, id string, create bool) (collab.OrganizationRef, error) {
	org, err := s.OpenOrganization(ctx, acct, id)
	if create && collab.CodeOf(err) == collab.NotFound {
		return s.createOrganization(ctx, acct, id)
	}
	return org, err
}

// OpenDocument returns a document that exists and is enabled. It fails like OpenOrganization, for the document too, but adds what create
// names where it is missing: the organization with its id as its name, the document in no folder. It fails with UNAVAILABLE where that was
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

// Open returns an organization as OpenOrganization does, and those of the documents that are there, enabled, and directly in the folder
// unless that is "", in the order asked; nil for nil. It fails with NOT_FOUND, too, when the folder does not exist; collab.RootFolder is
// that of the documents in no folder. One round trip, none for what is known, two where something is missing.
func (s *Store) Open(
	ctx context.Context, acct, organization, folder string, documents []string,
) (collab.OrganizationRef, []collab.DocumentRef, error) {
	return s.openDocuments(ctx, acct, organization, folder, documents, true)
}

// openDocuments is Open; unless skip it fails for a document that is disabled.
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
			if _, known := s.cached.Get(k, now); folder != "" || !known {
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
		incarnation, known := s.cached.Get(k, now)
		if it := found[k]; folder != "" || !known {
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

// Current returns which of documents, as they were read elsewhere, are there in this incarnation, and enabled. It fails like Open.
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

// CheckOrganization fails with NOT_FOUND unless the organization is there in this incarnation, and like OpenOrganization.
func (s *Store) CheckOrganization(ctx context.Context, org collab.OrganizationRef) error {
	is, err := s.OpenOrganization(ctx, org.Account, org.Organization)
	if err == nil && is != org {
		err = collab.Errorf(collab.NotFound, "%s does not exist", organizationNamed(org.Organization))
	}
	return err
}
