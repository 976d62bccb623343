package notifications

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Fill bounds the notifications.
func (r *UpdateRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	if len(r.Notifications) > collab.MaxIDsPerFilter {
		m.Add("notifications", "must have at most %d items, not %d", collab.MaxIDsPerFilter, len(r.Notifications))
	}
}

// Fill marks the notification as read by the person, unless the request says clicked. It refuses ids of
// other people.
func (u *NotificationUpdate) Fill(p *collab.Person, m *rpc.Violations) {
	only := func(field string, users []string) {
		if users != nil && !slices.Equal(users, []string{p.UserID}) {
			m.Add(field, "must name you alone: only a back end may name others")
		}
	}
	only("readByUserIds", u.ReadByUserIDs)
	only("clickedByUserIds", u.ClickedByUserIDs)
	if u.ReadByUserIDs == nil && u.ClickedByUserIDs == nil {
		u.ReadByUserIDs = []string{p.UserID}
	}
}

// withoutAddresses removes the addresses of the users in the texts of a notification: a user without a name is shown by id.
func withoutAddresses(n *collab.Notification, thread *collab.Thread) {
	n.ActionUser.Email = nil
	n.TemplateData, n.BodyData = withoutEmails(n.TemplateData), withoutEmails(n.BodyData)
	if thread == nil {
		return
	}
	thread.AssignedTo = withoutEmail(thread.AssignedTo)
	for i := range thread.Comments {
		c := &thread.Comments[i]
		c.TaggedUserContacts = withoutEmail(c.TaggedUserContacts)
	}
}

func withoutEmails(data map[string]collab.JSON) map[string]collab.JSON {
	data = maps.Clone(data)
	for name, value := range data {
		data[name] = withoutEmail(value)
	}
	return data
}

// withoutEmail returns a JSON text in which no object has a member email.
func withoutEmail(text collab.JSON) collab.JSON {
	var value any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return text // there is none
	}
	var leave func(any)
	leave = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			maps.DeleteFunc(v, func(name string, _ any) bool { return strings.EqualFold(name, "email") })
			for _, within := range v {
				leave(within)
			}
		case []any:
			for _, within := range v {
				leave(within)
			}
		}
	}
	leave(value)
	return rpc.JSON(value)
}
