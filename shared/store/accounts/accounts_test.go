package accounts

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

func newStore(t *testing.T) *Store { return New(storetest.New(t)) }

// TestChangeTogether: concurrent changes of operators are all kept.
func TestChangeTogether(t *testing.T) { storetest.OnEach(t, New, testChangeTogether) }

func testChangeTogether(t *testing.T, s *Store) {
	storetest.WantCode(t, "account", s.AddAccount(t.Context(), collab.Account{ID: "acct"}), "")
	storetest.WantCode(t, "key", s.AddAPIKey(t.Context(), "key", "acct", nil), "")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var sure, unsure []byte
	for i := range byte(8) {
		wg.Go(func() {
			err := s.ChangeTokens(t.Context(), "key", func(l []collab.Token) ([]collab.Token, error) {
				return append(l, collab.Token{Hash: []byte{i}}), nil
			})
			mu.Lock()
			defer mu.Unlock()
			if collab.CodeOf(err) == collab.Aborted { // others were faster, or an answer was lost
				unsure = append(unsure, i)
				return
			}
			storetest.WantCode(t, "add a token", err, "")
			sure = append(sure, i)
		})
	}
	wg.Wait()
	key, err := s.APIKey(t.Context(), "key")
	must.Do(t, err)
	var got []byte
	for _, token := range key.Tokens {
		if i := token.Hash[0]; slices.Contains(sure, i) {
			got = append(got, i)
		} else if !slices.Contains(unsure, i) || slices.Contains(got, i) {
			t.Errorf("token %d is there", i)
		}
	}
	slices.Sort(got)
	slices.Sort(sure)
	if diff := cmp.Diff(sure, got); diff != "" || len(sure) == 0 {
		t.Error("tokens that were added:", diff)
	}
}

// TestSettings checks that an account keeps all its settings.
func TestSettings(t *testing.T) {
	want := collab.Settings{
		DefaultAccess: "public", MailDelaySeconds: 60, AllowedOrigins: []string{"https://a.example"}, PermissionProvider: true,
		MailLook: collab.MailLook{
			FromName: "F", Product: "P", Link: "https://a.example/?a&b", Logo: "L", Color: "C", Footer: "<f>", Locale: "de",
			Texts: collab.Texts{"de": {"replied": "x"}},
		},
	}
	s := newStore(t)
	must.Do(t, s.AddAccount(t.Context(), collab.Account{ID: "acct", Settings: want}))
	a, err := s.Account(t.Context(), "acct")
	must.Do(t, err)
	if diff := cmp.Diff(want, a.Settings); diff != "" {
		t.Errorf("settings (- want, + got):\n%s", diff)
	}
}

// TestKeepUnknown: changes keep attributes of a newer version.
func TestKeepUnknown(t *testing.T) { storetest.OnEach(t, New, testKeepUnknown) }

func testKeepUnknown(t *testing.T, s *Store) {
	ctx := t.Context()
	must.Do(t, s.AddAccount(ctx, collab.Account{ID: "acct"}))
	must.Do(t, s.AddAPIKey(ctx, "key", "acct", nil))
	claim := newClaim(1, 1, noon)
	storetest.KeepsUnknown(t, s.Table, map[keys.Key]func() error{
		keys.Account("acct"): func() error {
			_, err := s.ChangeAccount(ctx, "acct", func(a *collab.Account) error { a.Name += "x"; return nil })
			return err
		},
		keys.APIKey("key"): func() error {
			return s.ChangeTokens(ctx, "key", func(l []collab.Token) ([]collab.Token, error) { return append(l, collab.Token{}), nil })
		},
		keys.PermissionProvider("acct"): func() error {
			return s.SetPermissionProvider(ctx, "acct", &collab.PermissionProvider{URL: "u"})
		},
		keys.Idempotency("acct", claim.KeyHash): func() error {
			claim = newClaim(1, 1, claim.Lease)
			got, err := s.BeginIdempotent(ctx, claim)
			return errors.Join(err, s.FreeIdempotent(ctx, got.Claim))
		},
	})
}

// TestDeleteAccount: a disabled account without organizations can be deleted, and leaves nothing.
func TestDeleteAccount(t *testing.T) { storetest.OnEach(t, New, testDeleteAccount) }

func testDeleteAccount(t *testing.T, s *Store) {
	ctx := t.Context()
	must.Do(t, s.EnsureAccount(ctx, collab.Account{ID: "acct"}, "key", nil))
	must.Do(t, s.SetPermissionProvider(ctx, "acct", &collab.PermissionProvider{URL: "u"}))
	_, err := s.KeepMailSecret(ctx, "acct", []byte("secret"))
	must.Do(t, err)
	gone, last := store.NewItem(keys.Organization("acct", "a")), store.NewItem(keys.Organization("acct", "z"))
	gone[keys.DeletedAt] = store.Number(1)
	must.Do(t, s.Put(ctx, gone))
	must.Do(t, s.Put(ctx, last))
	storetest.WantCode(t, "enabled", s.DeleteAccount(ctx, "acct"), collab.FailedPrecondition)
	_, err = s.ChangeAccount(ctx, "acct", func(a *collab.Account) error { a.Disabled = true; return nil })
	must.Do(t, err)
	storetest.WantCode(t, "with an organization", s.DeleteAccount(ctx, "acct"), collab.FailedPrecondition)
	_, err = s.APIKey(ctx, "key")
	storetest.WantCode(t, "the key after a refusal", err, "")
	must.Do(t, s.Delete(ctx, last.Key()))
	storetest.WantCode(t, "disabled, with a deleted organization", s.DeleteAccount(ctx, "acct"), "")
	left := collab.Map(storetest.Scan(t, s.Table), store.Item.Key)
	if diff := cmp.Diff([]keys.Key{gone.Key()}, left); diff != "" {
		t.Error(diff)
	}
}
