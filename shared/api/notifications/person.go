package notifications

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// fillUpdate marks notifications as read by the person, unless the request says clicked or, by an
// empty readByUserIds, unread. It refuses ids of other people.
func fillUpdate(p *collab.Person, data map[string]any, m *rpc.Violations) {
	list, _ := data["notifications"].([]any)
	for i, v := range list {
		n, ok := v.(map[string]any)
		if !ok {
			continue
		}
		said := false
		for _, field := range []string{"readByUserIds", "clickedByUserIds"} {
			users, ok := n[field].([]any)
			unread := field == "readByUserIds" && len(users) == 0
			if ok && !unread && (len(users) != 1 || users[0] != p.UserID) {
				m.Add(fmt.Sprintf("notifications[%d].%s", i, field), "must name you alone: only a back end may name others")
			}
			said = said || n[field] != nil
		}
		if !said {
			n["readByUserIds"] = []string{p.UserID}
		}
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
