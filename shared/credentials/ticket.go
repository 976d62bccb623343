package credentials

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"collabdata/shared/collab"
)

// SealTicket returns the text of a ticket: the account, the ticket's id, and an HMAC over both,
// separated by dots.
func SealTicket(key collab.SigningKey, account, id string) string {
	text := account + "." + id
	return text + "." + sealOf(key, text)
}

// OpenTicket returns the signing keys of a ticket's account, and the ticket's id. It reads only the
// account's keys. It returns PermissionDenied if the text was not sealed with a valid key, or the
// store's error.
func OpenTicket(ctx context.Context, keys KeyStore, ticket string) (signing collab.Signing, id string, err error) {
	invalid := collab.Errorf(collab.PermissionDenied, "the ticket is not valid")
	text, seal, _ := cutLast(ticket)
	account, id, ok := cutLast(text)
	if !ok || collab.CheckID(account, collab.MaxID) != nil {
		return signing, "", invalid
	}
	signing, err = keys.Signing(ctx, account)
	if collab.CodeOf(err) == collab.NotFound {
		return signing, "", invalid
	}
	for _, k := range signing.Keys {
		if hmac.Equal([]byte(seal), []byte(sealOf(k, text))) {
			return signing, id, nil
		}
	}
	if err == nil {
		err = invalid
	}
	return signing, "", err
}

func sealOf(key collab.SigningKey, text string) string {
	mac := hmac.New(sha256.New, key.Secret)
	mac.Write([]byte("ticket " + text)) // no token begins with this
	return hex.EncodeToString(mac.Sum(nil))
}

func cutLast(text string) (before, after string, ok bool) {
	if i := strings.LastIndexByte(text, '.'); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}
