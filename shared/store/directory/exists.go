package store

import (
	"context"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// How long the store may go on believing what it read. Nothing is ever un-made, so only `disabled` can turn out wrong.
const (
	existsFor   = 60 * time.Second
	disabledFor = 5 * time.Second
)

// known remembers organizations and documents that were seen to exist.
type known struct {
	mu    sync.Mutex
	until map[table.Key]time.Time
}

// mostKnown bounds the memory: when it is reached all is forgotten.
const mostKnown = 20_000

func newKnown() known { return known{until: map[table.Key]time.Time{}} }

func (k *known) has(key table.Key, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Before(k.until[key])
}

func (k *known) add(key table.Key, until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.until) >= mostKnown {
		clear(k.until)
	}
	k.until[key] = until
}

func (s *Store) knowOrganization(k table.Key) { s.known.add(k, s.now().Add(disabledFor)) }
func (s *Store) knowDocument(k table.Key)     { s.known.add(k, s.now().Add(existsFor)) }

// CheckOrganization fails with NOT_FOUND when the organization does not exist and FAILED_PRECONDITION when it is disabled.
func (s *Store) CheckOrganization(ctx context.Context, org collab.OrganizationRef) error {
	_, err := s.seek(ctx, org, nil)
	return err
}

// CheckDocument is CheckOrganization, and NOT_FOUND when the document does not exist. What create names is made instead when it is
// missing: the organization with its id as its name, the document in no folder.
func (s *Store) CheckDocument(ctx context.Context, doc collab.DocumentRef, create collab.CreateFlags) error {
	orgKey := table.Organization(doc.Account, doc.Organization)
	docKey := table.Document(doc.Account, doc.Organization, doc.Document)
	now := s.now()
	if s.known.has(orgKey, now) && s.known.has(docKey, now) {
		return nil
	}
	found, err := s.seek(ctx, doc.OrganizationRef, []table.Key{docKey})
	if collab.CodeOf(err) == collab.NotFound && create.Organization {
		if err := s.make(ctx, organizationItem(doc.Account, collab.Organization{
			ID: doc.Organization, Name: doc.Organization, CreatedAt: s.millis(), LastUpdated: s.millis(),
		})); err != nil {
			return err
		}
		// Another request may have made it, and disabled it is not: a new organization is enabled.
		s.knowOrganization(orgKey)
	} else if err != nil {
		return err
	}
	if found[docKey] != nil {
		s.knowDocument(docKey)
		return nil
	}
	if !create.Document {
		return collab.Errorf(collab.NotFound, "document %q does not exist in organization %q", doc.Document, doc.Organization)
	}
	err = s.make(ctx, documentItem(doc.OrganizationRef, collab.Document{
		ID: doc.Document, Folder: collab.RootFolder, CreatedAt: s.millis(), LastUpdated: s.millis(),
	}))
	if err == nil {
		s.knowDocument(docKey)
	}
	return err
}

// seek reads the organization and further items of it in one round trip, or two when something is missing: the second look is
// strongly consistent. It fails like CheckOrganization.
func (s *Store) seek(ctx context.Context, org collab.OrganizationRef, keys []table.Key) (map[table.Key]item, error) {
	orgKey := table.Organization(org.Account, org.Organization)
	orgKnown := s.known.has(orgKey, s.now())
	if !orgKnown {
		keys = append(keys[:len(keys):len(keys)], orgKey)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	found, err := s.getAll(ctx, keys, false)
	if err != nil {
		return nil, err
	}
	var missing []table.Key
	for _, k := range keys {
		if found[k] == nil {
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		late, err := s.getAll(ctx, missing, true)
		if err != nil {
			return nil, err
		}
		for k, it := range late {
			found[k] = it
		}
	}
	if orgKnown {
		return found, nil
	}
	if found[orgKey] == nil {
		return found, collab.Errorf(collab.NotFound, "organization %q does not exist", org.Organization)
	}
	if disabled := found[orgKey].bool(table.Disabled); disabled != nil && *disabled {
		return nil, collab.Errorf(collab.FailedPrecondition, "organization %q is disabled", org.Organization)
	}
	s.knowOrganization(orgKey)
	return found, nil
}
