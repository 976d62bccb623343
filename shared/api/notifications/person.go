package notifications

import (
	"fmt"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// own makes a request one about a person's own.
func own(field string) func(*collab.Person, map[string]any, *rpc.Refusals) {
	return func(p *collab.Person, data map[string]any, _ *rpc.Refusals) { data[field] = p.UserID }
}

func fillConfig(p *collab.Person, data map[string]any, _ *rpc.Refusals) {
	data["userIds"] = []string{p.UserID}
}

// fillUpdate has a person say that they read notifications, or clicked them.
func fillUpdate(p *collab.Person, data map[string]any, m *rpc.Refusals) {
	data["userId"] = p.UserID
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
				m.Refuse(fmt.Sprintf("data.notifications[%d].%s", i, field), "must name you alone: only a back end may name others")
			}
			said = said || n[field] != nil
		}
		if !said {
			n["readByUserIds"] = []string{p.UserID}
		}
	}
}
