package delivery

import (
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/inboxview"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/task"
)

// noticeRun is a run of a notice.
type noticeRun struct {
	*Deliverer
	outbox.Notice
	task    *task.Task
	account collab.Account
	org     collab.OrganizationRef
	times   *collab.MailTimes // of the recipient; nil until read
	list    *inbox.ToNotify
}

// told holds the entries that a notice shows.
type told struct {
	entries []inboxview.Entry // newest first
	to      collab.User       // the recipient, with an address
	reader  collab.Profile
	latest  map[threadRef][]collab.Comment // last comments of the threads

	seen        map[threadRef]collab.Millis                  // time up to which the recipient has seen each thread
	preferences map[collab.DocumentRef]collab.PreferencesSet // of the recipient
}

type threadRef struct {
	document   collab.DocumentRef
	annotation string
}

func threadOf(org collab.OrganizationRef, e *collab.InboxEntry) threadRef {
	return threadRef{e.Document(org), e.AnnotationID}
}

// recipient returns a recipient with the address of the newest entry that has one, if the account's
// settings allow it.
func recipient(u collab.User, entries []inboxview.Entry, s collab.Settings) collab.User {
	u = u.Short()
	for _, e := range slices.Backward(entries) {
		if e.Address != "" && !s.MailToMembersOnly {
			u.Email = &e.Address
		}
	}
	return u
}
