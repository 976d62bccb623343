package proxy_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"collabdata/shared/client"
	"collabdata/shared/client/proxy"
	"collabdata/shared/client/proxy/proxytest"
)

// staff are those who may be mentioned in acme.
var staff = []proxy.User{
	{
		ID:    "ann",
		Name:  "Ann",
		Email: "ann@example.com",
	}, {ID: "bob", Name: "Bob", Email: "bob@example.com"}, {ID: "cleo", Name: "Cleo", Email: "cleo@example.com"},
}

// who is the application that proxytest.Run describes.
func who(r *http.Request) (*proxy.Caller, error) {
	cookie, err := r.Cookie("user")
	if err != nil {
		return nil, nil
	}
	may := func(users ...string) func(context.Context, string) (bool, error) {
		return func(_ context.Context, document string) (bool, error) {
			return document == "plan" && slices.Contains(users, cookie.Value), nil
		}
	}
	c := &proxy.Caller{OrganizationID: "acme", CanRead: may("ann", "bob", "cleo", "eve"), CanWrite: may("ann", "bob", "eve")}
	if i := slices.IndexFunc(staff, func(u proxy.User) bool { return u.ID == cookie.Value }); i >= 0 {
		c.User = staff[i]
		return c, nil
	}
	if cookie.Value == "eve" {
		c.User, c.OrganizationID = proxy.User{ID: "eve"}, "other"
		return c, nil
	}
	return nil, nil
}

func people(_ context.Context, c *proxy.Caller, _ string, ids []string) ([]proxy.User, error) {
	if c.OrganizationID != "acme" {
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(staff), func(u proxy.User) bool { return ids != nil && !slices.Contains(ids, u.ID) }), nil
}

// TestRequests sends honest requests and lies, over HTTP, to an application before a real service. Whom one may mention is what the service
// knows, or what the application says.
func TestRequests(t *testing.T) {
	for name, config := range map[string]proxy.Config{"users of the service": {Who: who}, "people of the application": {Who: who, People: people}} {
		t.Run(name, func(t *testing.T) {
			config.Client = client.New(client.Config{BaseURL: proxytest.Serve(t), APIKey: proxytest.Key, AuthToken: proxytest.Token})
			server := httptest.NewServer(proxy.New(config))
			t.Cleanup(server.Close)
			proxytest.Run(t, server.URL)
		})
	}
}
