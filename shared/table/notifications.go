package table

// Notification is a stored notification.
func Notification(acct, org, id string) Key { return Key{Join("A", acct, "O", org, "NTF", id), "NTF"} }

// UserNotification points to a notification from a user's list.
func UserNotification(acct, org, user string, ms int64, id string) Key {
	return Key{Join("A", acct, "O", org, "U", user), Time(ms) + "#" + Escape(id)}
}

// AllNotification points to a notification from the organization's list for all.
func AllNotification(acct, org string, ms int64, id string) Key {
	return Key{Join("A", acct, "O", org, "ALL"), Time(ms) + "#" + Escape(id)}
}

// NotificationState is what a user did with a notification of the list for all: read, clicked.
func NotificationState(acct, org, user string, ms int64, id string) Key {
	return Key{Join("A", acct, "O", org, "READ", user), Time(ms) + "#" + Escape(id)}
}

// MailEntry is a mail to a user about an event of a thread; ann is "" for an event that belongs to none. Several become one mail.
func MailEntry(acct, org, doc, ann, user, event string) Key {
	return Key{Join("A", acct, "O", org, "D", doc, "M", ann, user), Escape(event)}
}

// MailSecret is the secret that signs the tokens by which the recipients of an account's mails unsubscribe.
func MailSecret(acct string) Key { return Key{Join("UNSUBSCRIBE", acct), "SECRET"} }

// UnsubscribedAddress says that an address, by its hash, gets no mail of an account.
func UnsubscribedAddress(acct, hash string) Key { return Key{noMail(acct), "ADDRESS#" + hash} }

// UnsubscribedUser says that a user of an organization gets no mail.
func UnsubscribedUser(acct, org, user string) Key {
	return Key{noMail(acct), "USER#" + Join(org, user)}
}

func noMail(acct string) string { return Join("A", acct, "NOMAIL") }
