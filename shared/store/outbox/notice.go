package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/task"
)

// Recipient is a user of an organization.
type Recipient struct {
	collab.OrganizationRef
	User string
}

// Notice is the next notice to a user, on a channel, about the inbox entries with its ID. It is the
// body of a task, whose From is the position of the first entry.
type Notice struct {
	For     Recipient `json:"for"`
	Channel string    `json:"channel"`
	ID      string    `json:"-"`
}

// NoticeAbout returns the notice to a user on a channel about a subject: the ids of a thread or
// notification, or none for a digest.
func NoticeAbout(to Recipient, channel string, subject ...string) Notice {
	parts := append([]string{keys.OrganizationPartition(to.OrganizationRef), to.User, channel}, subject...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return Notice{to, channel, hex.EncodeToString(sum[:16])}
}

// Task returns the reference of the notice's task.
func (n Notice) Task() collab.TaskRef {
	return collab.TaskRef{Kind: collab.NoticeTask, Account: n.For.Account, ID: n.ID}
}

// Body returns the body of the notice's task.
func (n Notice) Body() string {
	text, err := collab.EncodeJSON(n)
	if err != nil {
		panic(err) // it always encodes
	}
	return string(text)
}

// NoticeOf returns the notice of a task.
func NoticeOf(t *task.Task) (n Notice, err error) {
	if err := json.Unmarshal([]byte(t.Body), &n); err != nil {
		return n, store.Unreadable(keys.Task(t.TaskRef), err)
	}
	n.ID = t.ID
	return n, nil
}
