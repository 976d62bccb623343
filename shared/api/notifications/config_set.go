package notifications

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ConfigSetRequest is the data of POST /v2/notifications/config/set. Without documents it sets what holds in the whole organization.
type ConfigSetRequest struct {
	OrganizationID string         `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string       `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" doc:"The documents for which it holds, which need not exist; left out: the whole organization"`
	UserID         string         `json:"userId" rule:"required,id"`
	Config         ChannelsChange `json:"config" rule:"required,nonempty"`
}

// ChannelsChange replaces a user's preferences. A channel that is left out, or null, has none of its own: it falls back from the document to
// the organization, and from there to the default.
type ChannelsChange struct {
	Inbox rpc.Opt[collab.Preference] `json:"inbox" doc:"ALL: everything; MINE: what concerns the user; NONE; left out or null: what holds in the organization, else ALL"`
	Email rpc.Opt[collab.Preference] `json:"email" doc:"ALL: everything; MINE: what concerns the user; NONE; left out or null: what holds in the organization, else MINE"`
}

// ConfigSetResult is the answer to a config set.
type ConfigSetResult struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

// ConfigSet sets a user's preferences for documents, which need not exist, or for the organization.
func (s *Service) ConfigSet(ctx context.Context, call *rpc.Call, req *ConfigSetRequest) (ConfigSetResult, error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return ConfigSetResult{}, err
	}
	documents := req.DocumentIDs
	if documents == nil {
		documents = []string{""} // the organization itself
	}
	preferences := collab.Preferences{Inbox: req.Config.Inbox.Value, Email: req.Config.Email.Value}
	for _, d := range documents {
		if err := s.Directory.SetPreferences(ctx, org, req.UserID, d, preferences); err != nil {
			return ConfigSetResult{}, err
		}
	}
	call.Items = len(documents)
	call.Message = "the notification configuration was set"
	return ConfigSetResult{Success: true, Message: call.Message}, nil
}
