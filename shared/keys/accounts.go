package keys

import (
	"encoding/hex"
)

// APIKey is the item of an API key.
func APIKey(key string) Key { return apiKey.Key(Parts{ID: key}) }

// Account is the item of an account: its settings and whether it is disabled.
func Account(acct string) Key { return account.Key(Parts{Acct: acct}) }

// Quota is until when an account, or a person of it, has paid for what it used of its quotas; "" for the account.
func Quota(acct, user string) Key {
	if user != "" {
		return personQuota.Key(Parts{Acct: acct, User: user})
	}
	return quota.Key(Parts{Acct: acct})
}

// PermissionProvider is the address and secret of an account's permission provider.
func PermissionProvider(acct string) Key { return permissionProvider.Key(Parts{Acct: acct}) }

// SigningKeys are the keys that sign the tokens of an account's persons.
func SigningKeys(acct string) Key { return signingKeys.Key(Parts{Acct: acct}) }

// Accounts is the operator's list of accounts; the sort key is the account.
const Accounts = "ACCOUNTS"

// AccountEntry is an account's entry in the operator's list.
func AccountEntry(acct string) Key { return accountEntry.Key(Parts{Acct: acct}) }

// AccountAPIKey lists an API key under its account.
func AccountAPIKey(acct, key string) Key { return accountAPIKey.Key(Parts{Acct: acct, ID: key}) }

// Idempotency is the item of an Idempotency-Key; hash is the SHA-256 of path and key.
func Idempotency(acct string, hash [32]byte) Key {
	return keptAnswer.Key(Parts{Acct: acct, ID: hex.EncodeToString(hash[:])})
}

// Job is what one request deletes, and what is left to do.
func Job(acct, id string) Key { return job.Key(Parts{Acct: acct, ID: id}) }

// JobProgress is how far a job has come.
func JobProgress(acct, id string) Key { return jobProgress.Key(Parts{Acct: acct, ID: id}) }
