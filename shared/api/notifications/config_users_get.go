package notifications

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type ConfigUsersGetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id"`
	rpc.PageRequest
}

// UserConfig holds the preferences that one user has set.
type UserConfig struct {
	UserID     string      `json:"userId"`
	DocumentID string      `json:"documentId,omitempty" doc:"The document; absent for the organization"`
	Config     ChannelsSet `json:"config" doc:"By channel, without unset ones"`
	*MailTimes
}

// ChannelsSet are the preferences that were set, by channel. Further channels are added to these
// fields.
type ChannelsSet struct {
	Inbox collab.Preference `json:"inbox,omitempty" doc:"ALL, MINE (only if the user is concerned) or NONE"`
	Email collab.Preference `json:"email,omitempty" doc:"ALL, MINE (only if the user is concerned) or NONE"`
	rpc.Open
}

// MarshalJSON writes the channels that were set, with further ones.
func (c ChannelsSet) MarshalJSON() ([]byte, error) {
	own := rpc.Keyed[any]{{Key: "inbox", Value: c.Inbox}, {Key: "email", Value: c.Email}}
	own = slices.DeleteFunc(own, func(m rpc.Member[any]) bool { return m.Value == collab.Preference("") })
	return rpc.WithFurther(own, c.Further), nil
}

// ConfigUsersGet is POST /v2/notifications/config/users/get.
func ConfigUsersGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/config/users/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).ConfigUsersGet), Requires: collab.NotificationPreferences, Description: `
List notification preferences.

Lists the notification preferences that users have set, in pages: first those for the
organization, by user id, then those for documents. Values are returned as set; 'config/get'
returns the effective preferences. Users and documents need not exist. A page can have fewer items
than asked, even none, and still have a nextPageToken.

The request fails with NOT_FOUND if the organization does not exist, and with FAILED_PRECONDITION
if it is disabled.`}
}

// ConfigUsersGet returns a page of the preferences that were set in an organization.
func (s *Service) ConfigUsersGet(ctx context.Context, call *rpc.Call, req *ConfigUsersGetRequest) (*rpc.Page[UserConfig], error) {
	var at collab.PreferencePosition
	page, err := rpc.NewPage[UserConfig](call, "preference", req.PageRequest, &at)
	if err != nil {
		return nil, err
	}
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	list, next, err := s.Directory.ListPreferences(ctx, org, at, page.Most())
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		page.Add(UserConfig{p.User, p.Document, ChannelsSet{p.Inbox, p.Email, further(p.Preferences)}, MailTimesOf(p.Mail)}) // 1,000 of at most 3,000 bytes
	}
	if next != nil {
		page.Next(next)
	}
	return page, nil
}
