package notifications

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ConfigGetRequest is the data of POST /v2/notifications/config/get.
type ConfigGetRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=30,each=docid" doc:"The documents, which need not exist, in the order of the answer"`
	UserID         string   `json:"userId" rule:"required,id"`
}

// NotificationConfig is a user's notification configuration for a document.
type NotificationConfig struct {
	Config   Channels `json:"config"`
	Metadata Metadata `json:"metadata" doc:"What it is of"`
}

// Channels are the preferences by channel.
type Channels struct {
	Inbox collab.Preference `json:"inbox" doc:"ALL: everything; MINE: what concerns the user; NONE"`
	Email collab.Preference `json:"email" doc:"ALL: everything; MINE: what concerns the user; NONE"`
}

// Metadata says what a NotificationConfig is of.
type Metadata struct {
	APIKey         string `json:"apiKey" doc:"The API key of the request"`
	OrganizationID string `json:"organizationId"`
	DocumentID     string `json:"documentId"`
	UserID         string `json:"userId"`
}

// ConfigGet returns the configuration for each document in the order asked, repeats once: the user's preference for the document, else
// for the organization, else the default. Documents need not exist.
func (s *Service) ConfigGet(ctx context.Context, call *rpc.Call, req *ConfigGetRequest) ([]NotificationConfig, error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	documents := rpc.Distinct(req.DocumentIDs)
	preferences, err := s.Directory.Preferences(ctx, org, req.UserID, documents)
	if err != nil {
		return nil, err
	}
	list := make([]NotificationConfig, len(documents))
	for i, d := range documents {
		list[i] = NotificationConfig{
			Config:   Channels(preferences[i]),
			Metadata: Metadata{APIKey: call.APIKey, OrganizationID: req.OrganizationID, DocumentID: d, UserID: req.UserID},
		}
	}
	call.Items = len(list)
	call.Message = rpc.Count(call.Items, "notification configuration")
	return list, nil
}
