package keys

import "collabdata/shared/collab"

// Notification is a stored notification.
func Notification(org collab.OrganizationRef, id string) Key {
	return notification.Key(inOrganization(org, Parts{ID: id}))
}

// UserNotification points to a notification from a user's list.
func UserNotification(org collab.OrganizationRef, user string, ms int64, id string) Key {
	return inboxEntry.Key(inOrganization(org, Parts{User: user, At: ms, ID: id}))
}

// AllNotification points to a notification from the organization's list for all.
func AllNotification(org collab.OrganizationRef, ms int64, id string) Key {
	return allEntry.Key(inOrganization(org, Parts{At: ms, ID: id}))
}

// DocumentNotification points to a notification from the list of its document.
func DocumentNotification(doc collab.DocumentRef, ms int64, id string) Key {
	return documentEntry.Key(inDocument(doc, Parts{At: ms, ID: id}))
}

// Recipients is a part of those whom a notification of an event names, which notifications add recorded.
func Recipients(org collab.OrganizationRef, id, event string, part int) Key {
	return recipients.Key(inOrganization(org, Parts{ID: id, Event: event, At: int64(part)}))
}

// RecipientsOf begins the sort keys of Recipients.
func RecipientsOf(event string) string { return Join("TO", event, "") }

// ParseListed reads the sort key of a notification in a list: when it was made, and its id. It fails on text that is none.
func ParseListed(sk string) (ms int64, id string, err error) {
	p, err := inboxEntry.ParseSK(sk)
	return p.At, p.ID, err
}

// NotificationState is what a user did with a notification of the list for all: read, clicked.
func NotificationState(org collab.OrganizationRef, user string, ms int64, id string) Key {
	return notificationState.Key(inOrganization(org, Parts{User: user, At: ms, ID: id}))
}

// ReadUntil says until when a user has read all notifications.
func ReadUntil(org collab.OrganizationRef, user string) Key {
	return readUntil.Key(inOrganization(org, Parts{User: user}))
}

// NextEmail is the next email to a user about what the id names.
func NextEmail(org collab.OrganizationRef, user, id string) Key {
	return nextEmail.Key(inOrganization(org, Parts{User: user, ID: id}))
}

// MailSecret is the secret that signs the tokens by which the recipients of an account's mails unsubscribe.
func MailSecret(acct string) Key { return mailSecret.Key(Parts{Acct: acct}) }

// UnsubscribedAddress says that an address, by its hash, gets no mail of an account.
func UnsubscribedAddress(acct, hash string) Key {
	return noMailAddress.Key(Parts{Acct: acct, ID: hash})
}

// UnsubscribedUser says that a user of an organization gets no mail. It outlives the organization: who wanted no mail gets none.
func UnsubscribedUser(acct, org, user string) Key {
	return noMailUser.Key(Parts{Acct: acct, Org: org, User: user})
}
