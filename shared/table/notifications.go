package table

import "collabdata/shared/collab"

// Notification is a stored notification.
func Notification(org collab.OrganizationRef, id string) Key {
	return Key{below(org, "NTF", id), "NTF"}
}

// UserNotification points to a notification from a user's list.
func UserNotification(org collab.OrganizationRef, user string, ms int64, id string) Key {
	return Key{below(org, "U", user), Time(ms) + "#" + Escape(id)}
}

// AllNotification points to a notification from the organization's list for all.
func AllNotification(org collab.OrganizationRef, ms int64, id string) Key {
	return Key{below(org, "ALL"), Time(ms) + "#" + Escape(id)}
}

// DocumentNotification points to a notification from the list of its document.
func DocumentNotification(doc collab.DocumentRef, ms int64, id string) Key {
	return Key{DocumentPartition(doc) + "#NTF", Time(ms) + "#" + Escape(id)}
}

// NotificationState is what a user did with a notification of the list for all: read, clicked.
func NotificationState(org collab.OrganizationRef, user string, ms int64, id string) Key {
	return Key{below(org, "READ", user), Time(ms) + "#" + Escape(id)}
}

// MailEntry is a mail to a user about an event of a thread; ann is "" for an event that belongs to none. Several become one mail.
func MailEntry(doc collab.DocumentRef, ann, user, event string) Key {
	return Key{DocumentPartition(doc) + "#" + Join("M", ann, user), Escape(event)}
}

// MailSecret is the secret that signs the tokens by which the recipients of an account's mails unsubscribe.
func MailSecret(acct string) Key { return Key{Join("UNSUBSCRIBE", acct), "SECRET"} }

// UnsubscribedAddress says that an address, by its hash, gets no mail of an account.
func UnsubscribedAddress(acct, hash string) Key { return Key{noMail(acct), "ADDRESS#" + hash} }

// UnsubscribedUser says that a user of an organization gets no mail. It outlives the organization: who wanted no mail gets none.
func UnsubscribedUser(acct, org, user string) Key {
	return Key{noMail(acct), "USER#" + Join(org, user)}
}

func noMail(acct string) string { return Join("A", acct, "NOMAIL") }
