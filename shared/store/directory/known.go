package directory

import (
	"context"
	"maps"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// How long the directory goes on believing what it read. Nothing is ever un-made, so of a document no more is believed than that it exists.
const (
	existsFor       = 60 * time.Second // a document
	organizationFor = 5 * time.Second  // an organization: that it is enabled
)

// mostKnown bounds the memory of organizations that were seen to be enabled, and documents that were seen to exist.
const mostKnown = 20_000

// organization checks the item of an organization as it was read at a time, nil for none, and remembers it.
func (s *Store) organization(org collab.OrganizationRef, it store.Item, at time.Time) error {
	if it == nil {
		return organizationMissing(org.Organization)
	}
	var o struct {
		Disabled bool `dynamodbav:"off"`
	}
	if err := it.Decode(&o); err != nil {
		return err
	}
	if o.Disabled {
		return collab.Errorf(collab.FailedPrecondition, "organization %q is disabled", org.Organization)
	}
	s.known.Put(it.Key(), struct{}{}, at.Add(organizationFor))
	return nil
}

// seek reads further items of an organization, and the organization itself where it is not known, in one round trip, or two when something
// is missing: the second look is strongly consistent. It fails like CheckOrganization.
func (s *Store) seek(ctx context.Context, org collab.OrganizationRef, keys []table.Key) (found map[table.Key]store.Item, err error) {
	orgKey, now := table.Organization(org.Account, org.Organization), s.Now()
	_, orgKnown := s.known.Get(orgKey, now)
	if !orgKnown {
		keys = append(keys[:len(keys):len(keys)], orgKey)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	if found, err = s.GetAll(ctx, keys, false); err != nil {
		return nil, err
	}
	var missing []table.Key
	for _, k := range keys {
		if found[k] == nil {
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		late, err := s.GetAll(ctx, missing, true)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, late)
	}
	if !orgKnown {
		err = s.organization(org, found[orgKey], now)
	}
	return found, err
}

// CheckOrganization fails with NOT_FOUND when the organization does not exist and FAILED_PRECONDITION when it is disabled. It may take 5 s
// to hear of that.
func (s *Store) CheckOrganization(ctx context.Context, org collab.OrganizationRef) error {
	_, err := s.seek(ctx, org, nil)
	return err
}

// CheckDocument is CheckOrganization, and NOT_FOUND when the document does not exist. What create names is made instead when it is
// missing: the organization with its id as its name, the document in no folder.
func (s *Store) CheckDocument(ctx context.Context, doc collab.DocumentRef, create collab.CreateFlags) error {
	found, err := s.FindDocuments(ctx, doc.OrganizationRef, "", []string{doc.Document})
	if collab.CodeOf(err) == collab.NotFound && create.Organization {
		err = s.makeOrganization(ctx, doc.OrganizationRef)
	}
	switch {
	case err != nil || len(found) > 0:
		return err
	case !create.Document:
		return collab.Errorf(collab.NotFound, "document %q does not exist in organization %q", doc.Document, doc.Organization)
	}
	return s.makeDocument(ctx, doc)
}

// FindDocuments returns those of the documents that exist, and lie directly in the folder unless that is "", in the order asked; nil for
// nil. It fails like CheckOrganization, and with NOT_FOUND when the folder does not exist. collab.RootFolder is that of the documents in no
// folder. One round trip, none for what is known, two where something is missing.
func (s *Store) FindDocuments(ctx context.Context, org collab.OrganizationRef, folder string, ids []string) ([]string, error) {
	var keys []table.Key
	folderKey, now := table.Folder(org.Account, org.Organization, folder), s.Now()
	inFolder := folder != "" && folder != collab.RootFolder
	if inFolder {
		keys = append(keys, folderKey)
	}
	sure := map[string]bool{}
	for _, id := range ids {
		k := table.Document(org.Account, org.Organization, id)
		if _, sure[id] = s.known.Get(k, now); folder != "" || !sure[id] {
			keys = append(keys, k)
		}
	}
	found, err := s.seek(ctx, org, keys)
	if err != nil {
		return nil, err
	}
	if inFolder && found[folderKey] == nil {
		return nil, folderMissing(folder)
	}
	if ids == nil {
		return nil, nil
	}
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		k := table.Document(org.Account, org.Organization, id)
		it := found[k]
		if it != nil {
			s.known.Put(k, struct{}{}, now.Add(existsFor))
		}
		if folder == "" && sure[id] || it != nil && (folder == "" || it.Text(table.Parent) == folder) {
			list = append(list, id)
		}
	}
	return list, nil
}
