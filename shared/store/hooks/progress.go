package hooks

import (
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/task"
)

// EndpointTask returns the reference of the task that posts to a webhook endpoint.
func EndpointTask(acct, id string) collab.TaskRef {
	return collab.TaskRef{Kind: collab.WebhookTask, Account: acct, ID: id}
}

// Progress is the state of an endpoint's task. It holds for one version of the endpoint: one that
// is changed, or added again, starts afresh.
type Progress struct {
	Pause  collab.Millis        `json:"pause,omitempty"` // nothing is posted before
	Health collab.WebhookHealth `json:"health"`
	Of     [2]collab.Millis     `json:"of"` // CreatedAt and LastUpdated of the endpoint
}

// ProgressOf returns the progress of an endpoint by its task, which may be nil.
func ProgressOf(t *task.Task, w collab.Webhook) (p Progress, err error) {
	name := [2]collab.Millis{w.CreatedAt, w.LastUpdated}
	if t != nil && t.State != "" {
		if err := json.Unmarshal([]byte(t.State), &p); err != nil {
			return p, store.Unreadable(keys.Task(t.TaskRef), err)
		}
	}
	if p.Of[0] != name[0] || p.Of[1] != name[1] && !w.Disabled {
		p = Progress{}
	}
	p.Of = name
	return p, nil
}

// Text returns the progress as the state of a task, "" if the endpoint is well.
func (p Progress) Text() string {
	if p.Pause == 0 && p.Health.Failures == 0 {
		return ""
	}
	text, err := collab.EncodeJSON(p)
	if err != nil {
		panic(err) // it always encodes
	}
	return string(text)
}
