package rpc_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// OrganizationStore is what the operation needs of the table.
type OrganizationStore interface {
	RenameOrganization(ctx context.Context, org collab.OrganizationRef, name string) error
}

// RenameRequest is the data of organizations rename.
type RenameRequest struct {
	OrganizationID   string `json:"organizationId" rule:"required,id"`
	OrganizationName string `json:"organizationName" rule:"required,nonempty"`
	Reason           string `json:"reason"`
}

// Validate holds what tags cannot say.
func (r *RenameRequest) Validate(m *rpc.Violations) {
	if r.OrganizationName == r.OrganizationID && r.Reason == "" {
		m.Add("reason", "is required when the name is the id")
	}
}

// RenameResult is the data of the answer.
type RenameResult struct {
	ID string `json:"id"`
}

// Rename returns the rule of organizations rename.
func Rename(store OrganizationStore) rpc.Operation[RenameRequest, RenameResult] {
	return func(ctx context.Context, call *rpc.Call, req *RenameRequest) (RenameResult, error) {
		org := collab.OrganizationRef{Account: call.Account, Organization: req.OrganizationID}
		if err := store.RenameOrganization(ctx, org, req.OrganizationName); err != nil {
			return RenameResult{}, err
		}
		call.Items = 1
		call.Message = "organization renamed"
		return RenameResult{ID: req.OrganizationID}, nil
	}
}

func Example() {
	server := &rpc.Server{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	h := rpc.Handle(server, Rename(names{}), rpc.Options{})
	for _, body := range []string{
		`{"data": {"organizationId": "o1", "organizationName": "First"}}`,
		`{"data": {"organizationId": "o1", "organisationName": "First"}}`,
		`{"data": {"organizationId": "o2", "organizationName": "Second"}}`,
	} {
		r := httptest.NewRequest(http.MethodPost, "/v2/organizations/rename", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(collab.WithIdentity(r.Context(), collab.Identity{Account: "acme"})))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 {"result":{"status":"success","message":"organization renamed","data":{"id":"o1"}}}
	// 400 {"error":{"message":"data.organisationName is not a known field (and 1 other mistake)","status":"INVALID_ARGUMENT","details":[{"field":"data.organisationName","message":"is not a known field"},{"field":"data.organizationName","message":"is required"}]}}
	// 404 {"error":{"message":"organization o2 does not exist","status":"NOT_FOUND"}}
}

// names knows the organization o1.
type names struct{}

func (names) RenameOrganization(_ context.Context, org collab.OrganizationRef, _ string) error {
	if org.Organization != "o1" {
		return collab.Errorf(collab.NotFound, "organization %s does not exist", org.Organization)
	}
	return nil
}
