package keys

import (
	"encoding/hex"
)

// APIKey returns the key of an API key's item.
func APIKey(key string) Key { return apiKey.Key(Parts{ID: key}) }

// Account returns the key of an account's item, with its settings.
func Account(acct string) Key { return AnAccount.Key(Parts{Acct: acct}) }

// Quota returns the key of the paid-until times of an account, or of a user of it unless user is
// "".
func Quota(acct, user string) Key {
	if user != "" {
		return personQuota.Key(Parts{Acct: acct, User: user})
	}
	return quota.Key(Parts{Acct: acct})
}

// PermissionProvider returns the key of the URL and secret of an account's permission provider.
func PermissionProvider(acct string) Key { return permissionProvider.Key(Parts{Acct: acct}) }

// SigningKeys returns the key of an account's signing keys.
func SigningKeys(acct string) Key { return signingKeys.Key(Parts{Acct: acct}) }

// Accounts is the partition of the operator's list of accounts. The sort key is the account.
const Accounts = "ACCOUNTS"

// AccountEntry returns the key of an account's entry in the operator's list.
func AccountEntry(acct string) Key { return accountEntry.Key(Parts{Acct: acct}) }

// AccountAPIKey returns the key that lists an API key under its account.
func AccountAPIKey(acct, key string) Key { return accountAPIKey.Key(Parts{Acct: acct, ID: key}) }

// Idempotency returns the key of an Idempotency-Key's item. hash is the SHA-256 of path and key.
func Idempotency(acct string, hash [32]byte) Key {
	return keptAnswer.Key(Parts{Acct: acct, ID: hex.EncodeToString(hash[:])})
}

// Job returns the key of a job.
func Job(acct, id string) Key { return job.Key(Parts{Acct: acct, ID: id}) }

// Act returns the key of an act in the audit log. Acts sort by time.
func Act(acct string, at int64, id string) Key { return act.Key(Parts{Acct: acct, At: at, ID: id}) }

// ActParts returns the parts of the sort key of an act.
func ActParts(sk string) (Parts, error) { return act.ParseSK(sk) }
