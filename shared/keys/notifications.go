package keys

import "collabdata/shared/collab"

// Notification returns the key of a notification.
func Notification(org collab.OrganizationRef, id string) Key {
	return ANotification.Key(inOrganization(org, Parts{ID: id}))
}

// UserNotification returns the key of an entry in a user's list.
func UserNotification(org collab.OrganizationRef, user string, ms int64, id string) Key {
	return inboxEntry.Key(inOrganization(org, Parts{User: user, At: ms, ID: id}))
}

// AllNotification returns the key of an entry in the organization's list for all.
func AllNotification(org collab.OrganizationRef, ms int64, id string) Key {
	return allEntry.Key(inOrganization(org, Parts{At: ms, ID: id}))
}

// DocumentNotification returns the key of an entry in a document's list.
func DocumentNotification(doc collab.DocumentRef, ms int64, id string) Key {
	return documentEntry.Key(inDocument(doc, Parts{At: ms, ID: id}))
}

// Recipients returns the key of a part of the recipients of a notification of notifications/add.
func Recipients(org collab.OrganizationRef, id, event string, part int) Key {
	return recipients.Key(inOrganization(org, Parts{ID: id, Event: event, At: int64(part)}))
}

// RecipientsOf returns the prefix of the sort keys of Recipients.
func RecipientsOf(event string) string { return Join("TO", event, "") }

// ParseListed parses the sort key of a list entry.
func ParseListed(sk string) (ms int64, id string, err error) {
	p, err := inboxEntry.ParseSK(sk)
	return p.At, p.ID, err
}

// NotificationState returns the key of a user's actions on a notification: read, clicked.
func NotificationState(org collab.OrganizationRef, user string, ms int64, id string) Key {
	return notificationState.Key(inOrganization(org, Parts{User: user, At: ms, ID: id}))
}

// ReadUntil returns the key of the time until which a user has read all notifications.
func ReadUntil(org collab.OrganizationRef, user string) Key {
	return readUntil.Key(inOrganization(org, Parts{User: user}))
}

// MailSecret returns the key of the secret that signs an account's unsubscribe tokens.
func MailSecret(acct string) Key { return mailSecret.Key(Parts{Acct: acct}) }

// UnsubscribedAddress returns the key of an unsubscribed address of an account, by its hash.
func UnsubscribedAddress(acct, hash string) Key {
	return noMailAddress.Key(Parts{Acct: acct, ID: hash})
}

// UnsubscribedUser returns the key of an unsubscribed user. The item outlives the organization.
func UnsubscribedUser(acct, org, user string) Key {
	return noMailUser.Key(Parts{Acct: acct, Org: org, User: user})
}

// Undeliverable returns the key of the mark that the address of a user accepts no email.
func Undeliverable(org collab.OrganizationRef, user string) Key {
	return undeliverable.Key(inOrganization(org, Parts{User: user}))
}
