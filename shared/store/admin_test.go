package store

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

func mustCode(t *testing.T, what string, err error, want collab.Code) {
	t.Helper()
	if got := collab.CodeOf(err); got != want {
		t.Errorf("%s: %v, want code %q", what, err, want)
	}
}

func TestAddAccount(t *testing.T) { onEach(t, testAddAccount) }

func testAddAccount(t *testing.T, s *Store) {
	first := collab.Account{ID: "a b#c", Name: "First", Settings: collab.Settings{AllEvents: true}, CreatedAt: 5}
	mustCode(t, "new account", s.AddAccount(t.Context(), first), "")
	mustCode(t, "same account", s.AddAccount(t.Context(), collab.Account{ID: first.ID, Name: "Second"}), collab.AlreadyExists)
	got, err := s.Accounts(t.Context())
	if diff := cmp.Diff([]collab.Account{first}, got); err != nil || diff != "" {
		t.Errorf("%v (- want, + got):\n%s", err, diff)
	}

	tokens := []collab.Token{{Hash: [32]byte{1}, Expires: 7, CreatedAt: 6}}
	mustCode(t, "new key", s.AddAPIKey(t.Context(), "key", first.ID, tokens), "")
	mustCode(t, "same key", s.AddAPIKey(t.Context(), "key", first.ID, nil), collab.AlreadyExists)
	mustCode(t, "key of no account", s.AddAPIKey(t.Context(), "other", "nobody", nil), collab.NotFound)
	key, err := s.APIKey(t.Context(), "key")
	want := collab.APIKey{Key: "key", Account: first.ID, Settings: first.Settings, Tokens: tokens}
	if diff := cmp.Diff(want, key); err != nil || diff != "" {
		t.Errorf("%v (- want, + got):\n%s", err, diff)
	}
	keys, err := s.APIKeys(t.Context(), first.ID)
	if diff := cmp.Diff([]string{"key"}, keys); err != nil || diff != "" {
		t.Errorf("%v (- want, + got):\n%s", err, diff)
	}
}

func TestChange(t *testing.T) { onEach(t, testChange) }

func testChange(t *testing.T, s *Store) {
	ctx := t.Context()
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	refused := errors.New("refused")

	_, err := s.ChangeAccount(ctx, "acct", func(*collab.Account) error { return nil })
	mustCode(t, "no account", err, collab.NotFound)
	mustCode(t, "no key", s.ChangeTokens(ctx, "key", func(l []collab.Token) ([]collab.Token, error) { return l, nil }), collab.NotFound)
	mustCode(t, "account", s.AddAccount(ctx, collab.Account{ID: "acct", CreatedAt: 1}), "")
	account, err := s.ChangeAccount(ctx, "acct", func(a *collab.Account) error {
		a.Disabled = true
		return nil
	})
	if want := (collab.Account{ID: "acct", Disabled: true, CreatedAt: 1}); err != nil || cmp.Diff(want, account) != "" {
		t.Errorf("%+v, %v", account, err)
	}
	if _, err := s.ChangeAccount(ctx, "acct", func(a *collab.Account) error {
		a.Disabled = false
		return refused
	}); !errors.Is(err, refused) {
		t.Errorf("a refused change: %v", err)
	}
	if kept, err := s.Account(ctx, "acct"); err != nil || !kept.Disabled {
		t.Errorf("a refused change was made: %+v, %v", kept, err)
	}

	for i := range int64(2) {
		o, err := s.ChangeOrganization(ctx, org, func(o *collab.Organization) error {
			if o.ID != "org" || (o.CreatedAt == 0) != (i == 0) {
				t.Errorf("change %d gets %+v", i, o)
			}
			o.Name, o.CreatedAt, o.LastUpdated, o.Metadata = o.Name+"x", 1, i, collab.JSON(`{"a":1.0}`)
			return nil
		})
		got, readErr := s.Organizations(ctx, "acct", []string{"org"})
		if diff := cmp.Diff([]collab.Organization{o}, got); err != nil || readErr != nil || diff != "" {
			t.Errorf("%v, %v (- want, + got):\n%s", err, readErr, diff)
		}
		f, err := s.ChangeFolder(ctx, org, "f", func(f *collab.Folder) error {
			f.Name, f.CreatedAt, f.LastUpdated = f.Name+"y", 1, i
			return nil
		})
		folders, readErr := s.Folders(ctx, org)
		if diff := cmp.Diff([]collab.Folder{f}, folders); err != nil || readErr != nil || diff != "" {
			t.Errorf("%v, %v (- want, + got):\n%s", err, readErr, diff)
		}
		d, err := s.ChangeDocument(ctx, org.Document("d"), func(d *collab.Document) error {
			d.Access, d.Users, d.CreatedAt, d.LastUpdated = collab.AccessRestricted, append(d.Users, "u"), 1, i
			return nil
		})
		read, readErr := s.Document(ctx, org.Document("d"))
		if diff := cmp.Diff(d, read); err != nil || readErr != nil || diff != "" {
			t.Errorf("%v, %v (- want, + got):\n%s", err, readErr, diff)
		}
		if want := fmt.Sprint([]string{"u", "u"}[:i+1]); fmt.Sprint(d.Users) != want {
			t.Errorf("users %v, want %s", d.Users, want)
		}
	}
}

// TestChangeTogether holds that operators who change the same thing at once lose nothing of each other's.
func TestChangeTogether(t *testing.T) { onEach(t, testChangeTogether) }

func testChangeTogether(t *testing.T, s *Store) {
	mustCode(t, "account", s.AddAccount(t.Context(), collab.Account{ID: "acct"}), "")
	mustCode(t, "key", s.AddAPIKey(t.Context(), "key", "acct", nil), "")
	var wg sync.WaitGroup
	var mu sync.Mutex
	added := 0
	for i := range 8 {
		wg.Go(func() {
			err := s.ChangeTokens(t.Context(), "key", func(l []collab.Token) ([]collab.Token, error) {
				return append(l, collab.Token{Hash: [32]byte{byte(i)}}), nil
			})
			if collab.CodeOf(err) == collab.Aborted {
				return // five others were faster
			}
			mustCode(t, "add a token", err, "")
			mu.Lock()
			defer mu.Unlock()
			added++
		})
	}
	wg.Wait()
	key, err := s.APIKey(t.Context(), "key")
	if err != nil || len(key.Tokens) != added || added == 0 {
		t.Errorf("%d tokens were added, %d are there, %v", added, len(key.Tokens), err)
	}
}

func TestEnsureAccount(t *testing.T) { onEach(t, testEnsureAccount) }

func testEnsureAccount(t *testing.T, s *Store) {
	for _, name := range []string{"First", "Second"} {
		err := s.EnsureAccount(t.Context(), collab.Account{ID: "acct", Name: name}, "key", []collab.Token{{CreatedAt: int64(len(name))}})
		mustCode(t, name, err, "")
	}
	account, err := s.Account(t.Context(), "acct")
	if err != nil || account.Name != "First" {
		t.Errorf("%+v, %v", account, err)
	}
	key, err := s.APIKey(t.Context(), "key")
	if err != nil || len(key.Tokens) != 1 || key.Tokens[0].CreatedAt != int64(len("First")) {
		t.Errorf("%+v, %v", key, err)
	}
}
