package keys

import (
	"strings"
	"testing"

	"collabdata/shared/collab"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestParseChange checks the effect of each kind of item on connected pages. The filters pass all
// keys with an effect, and none of the other items of comments and events.
func TestParseChange(t *testing.T) {
	const acct, id, user = "a!c", "d #1", "u%"
	for _, incarnation := range []int64{0, 1_795_413_687_471} {
		org := collab.OrganizationRef{Account: acct, Organization: "o!", Incarnation: incarnation}
		doc := collab.DocumentRef{OrganizationRef: org, Document: id, Incarnation: incarnation}
		change := func(kind ChangeKind, doc, user string) Change { return Change{kind, acct, "o!", doc, user} }
		threads := change(ThreadsChanged, id, "")
		for k, want := range map[Key]Change{
			Annotation(doc, "a"):                     threads,
			Comment(doc, "a", 1):                     threads,
			ReadState(doc, user):                     change(ThreadsChanged, id, user),
			ThreadReadState(doc, user, "a"):          change(ThreadsChanged, id, user),
			UserNotification(org, user, 1<<40, "n"):  change(InboxChanged, "", user),
			NotificationState(org, user, 1<<40, "n"): change(InboxChanged, "", user),
			AllNotification(org, 1<<40, "n"):         change(InboxChanged, "", ""),
			Member(org, user):                        change(AccessChanged, "", user),
			DocumentGrant(doc, user):                 change(AccessChanged, "", user),
			FolderGrant(collab.FolderRef{OrganizationRef: org, Folder: "f"}, user): change(AccessChanged, "", user),
			Opening(doc, user): change(AccessChanged, "", user),
			HeartbeatKey():     {Kind: Heartbeat},
		} {
			got, ok := ParseChange(k)
			if diff := gocmp.Diff(want, got); !ok || diff != "" {
				t.Errorf("%s: %v\n%s", k, ok, diff)
			}
			if !passes(k) {
				t.Errorf("%s is filtered out", k)
			}
		}
		for _, k := range []Key{
			Task(collab.TaskRef{Kind: collab.EventTask, Account: acct, ID: "e"}), Idempotency(acct, [32]byte{}), Job(acct, "j"), Quota(acct, ""), AnnotationID(doc, "a"), Account(acct),
			Notification(org, "n"), Delivery(acct, "h", 1<<40, "e"), Group(org, "g"),
			Organization(acct, "o!"), Document(org, id), Folder(org, "f"), FolderTree(org),
			Removed(org, user), RemovedFrom(doc, user),
			Connection("c"), Ticket("acme", "t"), ConnectionCount(acct, 1<<40),
			{PK: ConnectionPartition(acct, "o!"), SK: ConnectionOf(user, "c")}, {PK: WatcherPartition(acct, "o!", id), SK: ConnectionOf(user, "c")},
		} {
			if c, ok := ParseChange(k); ok || passes(k) {
				t.Errorf("%s is told: %+v, passes: %v", k, c, passes(k))
			}
		}
	}
	for _, k := range []Key{{}, {PK: "A"}, {PK: "A#a#O"}, {PK: "A#a#O#o!!"}, {PK: "A#a#O#o!1#D#d", SK: "ANN"}, {PK: "A#a#O#%#D#d", SK: "ANN#a"}} {
		if c, ok := ParseChange(k); ok {
			t.Errorf("%s is told: %+v", k, c)
		}
	}
}

// passes applies the filters like Lambda.
func passes(k Key) bool {
	for _, f := range ChangeFilters() {
		all := true
		for name, text := range map[string]string{PK: k.PK, SK: k.SK} {
			one := f[name] == nil
			for _, pattern := range f[name] {
				switch p := pattern.(type) {
				case string:
					one = one || p == text
				case map[string]string:
					one = one || p["prefix"] != "" && strings.HasPrefix(text, p["prefix"]) || p["suffix"] != "" && strings.HasSuffix(text, p["suffix"])
				}
			}
			all = all && one
		}
		if all {
			return true
		}
	}
	return false
}
