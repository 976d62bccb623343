package assistant

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/client"
)

type documentsInput struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the previous result"`
}

// document is a document in a list.
type document struct {
	ID   string `json:"documentId"`
	Name string `json:"name,omitempty"`
}

// documentList is a list of documents.
type documentList struct {
	list[document]
	More string `json:"more,omitempty"`
}

// documents lists the documents of the person's token, or with a back end's credentials those of
// the organization that the person can see.
func (s *server) documents(ctx context.Context, in documentsInput) (any, error) {
	l := documentList{list: list[document]{Notice: notice, Items: []document{}}}
	if s.Agent == nil {
		for _, id := range s.Documents {
			l.Items = append(l.Items, document{ID: id})
		}
		if s.More {
			l.More = "The token covers further documents of the organization, which it does not name: ask the person for their ids."
		}
		return l, nil
	}
	d := data{"organizationId": s.Organization, "pageSize": mostDocuments}
	for range mostPages {
		if cursor := cmp.Or(l.Next, in.Cursor); cursor != "" {
			d["pageToken"] = cursor
		}
		found, next, err := client.Call[[]client.Document](ctx, s.Client, "/v2/organizations/documents/get", d)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(d client.Document) bool { return d.Disabled })
		ids := make([]string, len(found))
		for i, d := range found {
			ids[i] = d.ID
		}
		sees, err := s.sees(ctx, []string{s.Person.ID}, ids)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if sees(s.Person.ID, d.ID) {
				name, _ := cut(d.DocumentName, longestName)
				l.Items = append(l.Items, document{d.ID, name})
			}
		}
		if l.Next = next; next == "" || len(l.Items) > 0 {
			break
		}
	}
	return l, nil
}
