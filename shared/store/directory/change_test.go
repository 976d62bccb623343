package directory

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/google/go-cmp/cmp"
)

func TestAddAccount(t *testing.T) { onEach(t, testAddAccount) }

func testAddAccount(t *testing.T, s *Store) {
	first := collab.Account{ID: "a b#c", Name: "First", Settings: collab.Settings{AllEvents: true}, CreatedAt: 5}
	mustCode(t, "new account", s.AddAccount(t.Context(), first), "")
	mustCode(t, "same account", s.AddAccount(t.Context(), collab.Account{ID: first.ID, Name: "Second"}), collab.AlreadyExists)
	got, err := s.Accounts(t.Context(), "", 0)
	if diff := cmp.Diff([]collab.Account{first}, got); err != nil || diff != "" {
		t.Errorf("%v (- want, + got):\n%s", err, diff)
	}

	tokens := []collab.Token{{Hash: collab.HashToken("token"), Expires: 7, CreatedAt: 6}}
	mustCode(t, "new key", s.AddAPIKey(t.Context(), "key", first.ID, tokens), "")
	mustCode(t, "same key", s.AddAPIKey(t.Context(), "key", first.ID, nil), collab.AlreadyExists)
	mustCode(t, "key of no account", s.AddAPIKey(t.Context(), "other", "nobody", nil), collab.NotFound)
	key, err := s.APIKey(t.Context(), "key")
	want := collab.APIKey{Key: "key", Account: first.ID, Settings: first.Settings, Tokens: tokens}
	if diff := cmp.Diff(want, key); err != nil || diff != "" {
		t.Errorf("%v (- want, + got):\n%s", err, diff)
	}
	itemKeys, err := s.APIKeys(t.Context(), first.ID, "", 0)
	if diff := cmp.Diff([]string{"key"}, itemKeys); err != nil || diff != "" {
		t.Errorf("%v (- want, + got):\n%s", err, diff)
	}
	_, err = s.APIKey(t.Context(), "none")
	mustCode(t, "unknown key", err, collab.NotFound)
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

func TestChange(t *testing.T) { onEach(t, testChange) }

func testChange(t *testing.T, s *Store) {
	ctx := t.Context()
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

	for i := range 2 {
		var o collab.Organization
		err := storetest.ChangeOrganization(ctx, s, acme, func(stored *collab.Organization) {
			if stored.ID != "org" || (stored.Name == "") != (i == 0) {
				t.Errorf("change %d gets %+v", i, stored)
			}
			stored.Name, stored.CreatedAt, stored.LastUpdated, stored.Metadata = stored.Name+"x", 1, int64(i), collab.JSON(`{"a":1.0}`)
			o = *stored
		})
		got, readErr := s.Organizations(ctx, "acct", []string{"org"})
		if diff := cmp.Diff([]collab.Organization{o}, got); err != nil || readErr != nil || diff != "" {
			t.Errorf("%v, %v (- want, + got):\n%s", err, readErr, diff)
		}
		err = storetest.ChangeDocument(ctx, s, acme.Document("d"), func(d *collab.Document) {
			d.Access, d.Name, d.CreatedAt = collab.AccessRestricted, d.Name+"u", 1
		})
		d, readErr := s.Document(ctx, acme.Document("d"))
		want := collab.Document{
			ID: "d", Name: strings.Repeat("u", i+1), Folder: collab.RootFolder, Access: collab.AccessRestricted,
			AddedBy: d.AddedBy, CreatedAt: 1, LastUpdated: d.LastUpdated,
		}
		if diff := cmp.Diff(want, d); err != nil || readErr != nil || diff != "" {
			t.Errorf("%v, %v (- want, + got):\n%s", err, readErr, diff)
		}
	}
	err = storetest.ChangeOrganization(ctx, s, acme, func(o *collab.Organization) { o.Metadata = nil })
	if got, readErr := s.Organizations(ctx, "acct", []string{"org"}); err != nil || readErr != nil || len(got) != 1 || got[0].Metadata != nil {
		t.Errorf("metadata was not cleared: %+v, %v, %v", got, err, readErr)
	}
}

// TestPermissionProvider sets, changes and removes a provider.
func TestPermissionProvider(t *testing.T) { onEach(t, testPermissionProvider) }

func testPermissionProvider(t *testing.T, s *Store) {
	mustCode(t, "of no account", s.SetPermissionProvider(t.Context(), "acct", nil), collab.NotFound)
	must(t, s.AddAccount(t.Context(), collab.Account{ID: "acct", Settings: collab.Settings{AllEvents: true}}))
	for _, want := range []*collab.PermissionProvider{nil, {URL: "u", Secret: "s"}, {URL: "v", Secret: "s"}, nil} {
		must(t, s.SetPermissionProvider(t.Context(), "acct", want))
		got, err := s.PermissionProvider(t.Context(), "acct")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		a, err := s.Account(t.Context(), "acct")
		if diff := cmp.Diff(collab.Settings{AllEvents: true, PermissionProvider: want != nil}, a.Settings); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// TestPreferences sets preferences and reads what holds.
func TestPreferences(t *testing.T) { onEach(t, testPreferences) }

func testPreferences(t *testing.T, s *Store) {
	docs := []string{"d#1", "d2", "d3"}
	for _, set := range []struct {
		documents []string
		p         collab.Preferences
		want      []collab.Preferences
	}{
		{[]string{"d#1"}, collab.Preferences{Inbox: "NONE"}, []collab.Preferences{{Inbox: "NONE", Email: "MINE"}, collab.DefaultPreferences, collab.DefaultPreferences}},
		{nil, collab.Preferences{Email: "ALL"}, []collab.Preferences{{Inbox: "NONE", Email: "ALL"}, {Inbox: "ALL", Email: "ALL"}, {Inbox: "ALL", Email: "ALL"}}},
		{[]string{"d2"}, collab.Preferences{Email: "NONE"}, []collab.Preferences{{Inbox: "NONE", Email: "ALL"}, {Inbox: "ALL", Email: "NONE"}, {Inbox: "ALL", Email: "ALL"}}},
		{[]string{"d#1", "d#1"}, collab.Preferences{}, []collab.Preferences{{Inbox: "ALL", Email: "ALL"}, {Inbox: "ALL", Email: "NONE"}, {Inbox: "ALL", Email: "ALL"}}},
	} {
		must(t, s.SetPreferences(t.Context(), acme, []string{"u", "w"}, set.documents, set.p))
		got, err := s.Preferences(t.Context(), acme, "u", docs)
		if diff := cmp.Diff(set.want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		for i, d := range docs {
			got, err := s.UserPreferences(t.Context(), acme.Document(d), []string{"v", "u", "w"})
			want := map[string]collab.Preferences{"u": set.want[i], "w": set.want[i], "v": collab.DefaultPreferences}
			effective := map[string]collab.Preferences{}
			for user, set := range got {
				effective[user] = set.Effective()
			}
			if diff := cmp.Diff(want, effective); err != nil || diff != "" {
				t.Errorf("%s: %v %s", d, err, diff)
			}
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
	var sure, unsure []byte
	for i := range byte(8) {
		wg.Go(func() {
			err := s.ChangeTokens(t.Context(), "key", func(l []collab.Token) ([]collab.Token, error) {
				return append(l, collab.Token{Hash: []byte{i}}), nil
			})
			mu.Lock()
			defer mu.Unlock()
			if collab.CodeOf(err) == collab.Aborted { // others were faster, or an answer was lost and others wrote since
				unsure = append(unsure, i)
				return
			}
			mustCode(t, "add a token", err, "")
			sure = append(sure, i)
		})
	}
	wg.Wait()
	key, err := s.APIKey(t.Context(), "key")
	must(t, err)
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

// TestKeepUnknown holds that no change drops attributes that a newer version has written.
func TestKeepUnknown(t *testing.T) { onEach(t, testKeepUnknown) }

func testKeepUnknown(t *testing.T, s *Store) {
	ctx := t.Context()
	must(t, s.AddAccount(ctx, collab.Account{ID: "acct"}))
	must(t, s.AddAPIKey(ctx, "key", "acct", nil))
	claim := newClaim(1, 1, noon)
	changes := map[keys.Key]func() error{
		keys.Account("acct"): func() error {
			_, err := s.ChangeAccount(ctx, "acct", func(a *collab.Account) error { a.Name += "x"; return nil })
			return err
		},
		keys.APIKey("key"): func() error {
			return s.ChangeTokens(ctx, "key", func(l []collab.Token) ([]collab.Token, error) { return append(l, collab.Token{}), nil })
		},
		keys.Organization("acct", "org"): func() error {
			err := storetest.ChangeOrganization(ctx, s, acme, func(o *collab.Organization) { o.Name += "x"; o.Disabled = false })
			return err
		},
		keys.Folder(acme, "f"): func() error {
			s.AddFolders(ctx, storetest.Request(noon), acme, []collab.Folder{{ID: "f", Parent: collab.RootFolder}})
			return s.ChangeFolder(ctx, storetest.Request(noon), acme, "f", func(f *collab.Folder) { f.Name += "x" })
		},
		keys.Document(acme, "d"): func() error {
			err := storetest.ChangeDocument(ctx, s, acme.Document("d"), func(d *collab.Document) { d.Name += "x" })
			return err
		},
		keys.Member(acme, "u"): func() error {
			return s.ChangeMembers(ctx, storetest.Request(noon), collab.Resource{OrganizationRef: acme}, []string{"u"}, true, func(int, *collab.Member) {})[0]
		},
		keys.PermissionProvider("acct"): func() error {
			return s.SetPermissionProvider(ctx, "acct", &collab.PermissionProvider{URL: "u"})
		},
		keys.Idempotency("acct", claim.KeyHash): func() error {
			claim = newClaim(1, 1, claim.Lease)
			got, err := s.BeginIdempotent(ctx, claim)
			return errors.Join(err, s.FreeIdempotent(ctx, got.Claim))
		},
	}
	for k, change := range changes {
		must(t, change())
		_, err := s.Write(ctx, store.Update(k, expression.Set(expression.Name("newer"), expression.Value("kept"))))
		must(t, err)
		must(t, change())
		it, err := s.Get(ctx, k)
		must(t, err)
		if it.Text("newer") != "kept" {
			t.Errorf("%s lost an attribute: %v", k, it)
		}
	}
}

// TestLostAnswer holds that a change whose answer was lost is not done again over what another wrote since.
func TestLostAnswer(t *testing.T) {
	others := newStore(t)
	others.putOrganization(t, collab.Organization{ID: "org", Name: "first"})
	var lost atomic.Bool
	s := New(storetest.Through(t, others.Table, func(next aws.HTTPClient) aws.HTTPClient {
		return client(func(r *http.Request) (*http.Response, error) {
			answer, err := next.Do(r)
			if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "UpdateItem") || lost.Swap(true) {
				return answer, err
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			others.putOrganization(t, collab.Organization{ID: "org", Name: "newer"})
			return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
		})
	}))
	err := storetest.ChangeOrganization(t.Context(), s, acme, func(o *collab.Organization) {
		o.Name = "older"
	})
	mustCode(t, "a change that others have changed since", err, collab.Aborted)
	got, err := others.Organizations(context.WithoutCancel(t.Context()), "acct", []string{"org"})
	if err != nil || len(got) != 1 || got[0].Name != "newer" {
		t.Errorf("%+v, %v", got, err)
	}
}

// client is a transport.
type client func(*http.Request) (*http.Response, error)

func (c client) Do(r *http.Request) (*http.Response, error) { return c(r) }
