package notifications

import (
	"fmt"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// fillUpdate marks notifications as read by the person, unless the request says clicked. It refuses ids of other people.
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
			if ok && (len(users) != 1 || users[0] != p.UserID) {
				m.Add(fmt.Sprintf("notifications[%d].%s", i, field), "must name you alone: only a back end may name others")
			}
			said = said || n[field] != nil
		}
		if !said {
			n["readByUserIds"] = []string{p.UserID}
		}
	}
}
