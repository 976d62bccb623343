package notifications

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ConfigSetRequest is the data of POST /v2/notifications/config/set. Without documents it sets what holds in the whole organization.
type ConfigSetRequest struct {
	OrganizationID string         `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string       `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" doc:"The documents for which it holds, which need not exist; left out: the whole organization"`
	UserIDs        []string       `json:"userIds" rule:"required,nonempty,max=30,each=id" doc:"The users whose preferences they are"`
	Config         ChannelsChange `json:"config" rule:"required,nonempty"`
}

// ChannelsChange replaces a user's preferences, further channels too. A channel that is left out, or null, has none of its own: it falls
// back from the document to the organization, and from there to the default.
type ChannelsChange struct {
	Inbox rpc.Opt[collab.Preference] `json:"inbox" doc:"ALL: everything; MINE: what concerns the user; NONE; left out or null: what holds in the organization, else ALL"`
	Email rpc.Opt[collab.Preference] `json:"email" doc:"ALL: everything; MINE: what concerns the user; NONE; left out or null: what holds in the organization, else MINE"`
	rpc.Open

	further map[string]collab.Preference
}

const (
	maxChannels = 20  // further ones
	maxChannel  = 100 // bytes of the name of one
)

// Validate reads the further channels.
func (c *ChannelsChange) Validate(m *rpc.Violations) {
	if len(c.Further) > maxChannels {
		m.Add("", "must have at most %d further channels, not %d", maxChannels, len(c.Further))
		return
	}
	c.further = make(map[string]collab.Preference, len(c.Further))
	for _, channel := range c.Further {
		field := rpc.PathOf("", channel.Key)
		var p collab.Preference
		switch {
		case collab.CheckID(channel.Key, maxChannel) != nil:
			m.Add(field, "is not the name of a channel: one has 1 to %d bytes and no control characters", maxChannel)
		case string(channel.Value) == "null":
		case json.Unmarshal(channel.Value, &p) != nil || !slices.Contains(p.Values(), string(p)):
			m.Add(field, "must be one of %s", strings.Join(p.Values(), ", "))
		default:
			c.further[channel.Key] = p
		}
	}
}

// ConfigSetResult says whose preferences were set, and for what.
type ConfigSetResult struct {
	rpc.Outcome
	UserID     string `json:"userId"`
	DocumentID string `json:"documentId,omitempty" doc:"Where the request names a single one"`
}

// ConfigSet is POST /v2/notifications/config/set.
func ConfigSet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/config/set", Grants: rpc.ReadTable | rpc.WriteTable,
		Person: rpc.Person{
			Sends: "organizationId documentIds config{inbox email}", Sees: "*{success message userId documentId}", Inbox: true, Fill: fillConfig,
		},
		Operation: rpc.Method((*Service).ConfigSet), Requires: collab.NotificationPreferences, Description: `
Sets users' notification preferences. Those of up to 30 users for up to 30 documents, or without documentIds for the whole organization,
are replaced. A channel that is left out or null has no preference of its own: it falls back from the document to the organization, and
from there to the default. config names at least one channel. Beside inbox and email it may name 20 further ones, such as slack, each of at
most 100 bytes: they are kept and returned, and nothing is sent on them.

Neither documents nor users need exist. It holds for what is delivered from then on. The response has an item for each user, with a
documentId where the request names a single one. NOT_FOUND when the organization does not exist, FAILED_PRECONDITION when it is disabled.`}
}

// ConfigSet sets the preferences of users for documents, which need not exist, or for the organization. A call that fails may have set some
// of them, and may be sent again.
func (s *Service) ConfigSet(ctx context.Context, call *rpc.Call, req *ConfigSetRequest) (rpc.Keyed[ConfigSetResult], error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	users, documents := rpc.Distinct(req.UserIDs), rpc.Distinct(req.DocumentIDs)
	preferences := collab.Preferences{Inbox: req.Config.Inbox.Value, Email: req.Config.Email.Value, Further: req.Config.further}
	if err := s.Directory.SetPreferences(ctx, org, users, documents, preferences); err != nil {
		return nil, err
	}
	call.Message = "User config set successfully."
	var results rpc.Keyed[ConfigSetResult]
	for _, u := range users {
		result := ConfigSetResult{Outcome: call.Outcome(nil, call.Message), UserID: u}
		if len(documents) == 1 {
			result.DocumentID = documents[0]
		}
		results = append(results, rpc.Member[ConfigSetResult]{Key: u, Value: result})
	}
	return results, nil
}
