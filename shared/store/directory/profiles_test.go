package directory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestProfilesBound checks the read units of one call of Profiles below ten folders, and that calls
// go on where the last one ended, with the first users first.
func TestProfilesBound(t *testing.T) {
	for _, test := range []struct {
		name   string
		detail int // bytes of each user
		most   float64
	}{{"small", 10, profileUnits + 30}, {"large", 100_000, profileUnits + 300}} {
		t.Run(test.name, func(t *testing.T) {
			s := New(storetest.New(t))
			s.putOrganization(t, collab.Organization{ID: "org"})
			parent := collab.RootFolder
			for i := range collab.MaxFolderDepth {
				s.putFolder(t, fmt.Sprint("f", i), parent)
				parent = fmt.Sprint("f", i)
			}
			s.putDocument(t, "d", parent)
			org, on := collab.Resource{OrganizationRef: acme}, acme.Document("d").Resource()
			var users []string
			for i := range 60 {
				users = append(users, fmt.Sprint("u", i))
			}
			errs := s.ChangeMembers(t.Context(), storetest.Request(noon), org, users, true, func(_ int, m *collab.Member) {
				m.Name, m.Email, m.Plan = new("U"), new("u@example.com"), new(strings.Repeat("x", test.detail))
			})
			must.Do(t, slices.Concat(errs)[0])
			var found collab.Profiles
			for n := 0; len(found) < len(users); n++ {
				var usage collab.Usage
				list, err := s.Profiles(collab.WithUsage(t.Context(), &usage), collab.UsersAt(on, append(users, users...)))
				must.Do(t, err)
				if read, _, _ := usage.Total(); read > test.most || len(list[on]) <= len(found) {
					t.Fatalf("call %d reads %d users, %d before, for %.1f units", n, len(list[on]), len(found), read)
				}
				found = list[on]
				for i := range found {
					if !slices.Contains(users[:len(found)], i) {
						t.Errorf("%s is among the first %d users", i, len(found))
					}
				}
			}
			if diff := cmp.Diff(collab.Profile{User: collab.User{UserID: "u0", Name: new("U")}}, found["u0"]); diff != "" {
				t.Error("(- want, + got):", diff)
			}
			if n := storetest.Calls(t, func(ctx context.Context) {
				_, err := s.Profiles(ctx, collab.UsersAt(on, users))
				must.Do(t, err)
			}); n != 0 {
				t.Errorf("known profiles take %d calls", n)
			}
		})
	}
}

// TestProfilesForgotten checks that each change of a user makes the process read the user's profile
// again, and nobody else's, and that it reads all of them again after a minute.
func TestProfilesForgotten(t *testing.T) {
	now := noon
	s := New(storetest.New(t).At(func() time.Time { return now }))
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putDocument(t, "d", "")
	org, on := collab.Resource{OrganizationRef: acme}, acme.Document("d").Resource()
	add := func(in collab.Resource, users ...string) {
		t.Helper()
		must.Do(t, s.ChangeMembers(t.Context(), storetest.Request(noon), in, users, true, func(_ int, m *collab.Member) { m.Name = new("U") })[0])
	}
	read := func(user string) (calls int) {
		return storetest.Calls(t, func(ctx context.Context) {
			_, err := s.Profiles(ctx, collab.UsersAt(on, []string{user}))
			must.Do(t, err)
		})
	}
	add(org, "ann", "bob")
	for name, change := range map[string]func() error{
		"ChangeMembers": func() error { add(on, "ann"); return nil },
		"AddUnlessRemoved": func() error {
			return s.AddUnlessRemoved(t.Context(), storetest.Request(noon), on, "ann", func(m *collab.Member) { m.Name = new("A") })
		},
		"AddGrants": func() error {
			return s.AddGrants(t.Context(), storetest.Request(noon), "ann", []collab.Resource{on}, []collab.Grant{{Role: collab.RoleEditor}})
		},
		"DeleteGrants": func() error { return s.DeleteGrants(t.Context(), "ann", []collab.Resource{on}) },
		"DeleteMembers": func() error {
			return s.DeleteMembers(t.Context(), storetest.Again(storetest.Request(noon)), org, []string{"ann"})[0]
		},
		"EndAccess": func() error { return s.EndAccess(t.Context(), acme, []string{"ann"}, collab.MaxMillis) },
	} {
		t.Run(name, func(t *testing.T) {
			read("ann")
			read("bob")
			must.Do(t, change())
			if ann, bob := read("ann"), read("bob"); ann != 1 || bob != 0 {
				t.Errorf("ann takes %d calls, bob %d", ann, bob)
			}
		})
	}
	if now = now.Add(time.Minute); read("bob") == 0 {
		t.Error("after a minute, bob takes no calls")
	}
}

// TestProfilesOfDocuments checks the read units of a call for a user in many documents, and that
// the next call goes on, however many users the first documents have.
func TestProfilesOfDocuments(t *testing.T) {
	s := New(storetest.New(t))
	s.putOrganization(t, collab.Organization{ID: "org"})
	org := collab.Resource{OrganizationRef: acme}
	must.Do(t, s.ChangeMembers(t.Context(), storetest.Request(noon), org, []string{"ann"}, true, func(_ int, m *collab.Member) { m.Name = new("Ann") })[0])
	var users []collab.UserAt
	for i := range 200 {
		id := fmt.Sprint("d", i)
		s.putDocument(t, id, "")
		users = append(users, collab.UsersAt(acme.Document(id).Resource(), []string{"ann", "ann", "bob", "cid"}[:1+3/(i+1)])...)
	}
	for _, want := range []int{150, 200} {
		var usage collab.Usage
		list, err := s.Profiles(collab.WithUsage(t.Context(), &usage), users)
		must.Do(t, err)
		named := 0
		for _, profiles := range list {
			named += len(profiles)
		}
		if read, _, _ := usage.Total(); named != want || read > levelUnits+profileUnits {
			t.Errorf("%d documents have the name, want %d, for %.1f units", named, want, read)
		}
	}
}
