package operator

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/accounts"
)

// Act is an act of the audit log in a response.
type Act struct {
	At        collab.Timestamp    `json:"at"`
	By        collab.ActorKind    `json:"by"`
	Actor     string              `json:"actor" doc:"The AWS identity of an operator, the API key of a back end, or a user"`
	Operation string              `json:"operation" doc:"Its path"`
	IDs       map[string][]string `json:"ids" doc:"The ids in the request, by the names of its fields"`
	Omitted   int                 `json:"omitted,omitempty" doc:"Number of further ids"`
	Fields    []string            `json:"fields,omitempty" doc:"Names of other fields of the request"`
	Error     collab.Code         `json:"error,omitempty" doc:"The operation failed"`
	RequestID string              `json:"requestId,omitempty"`
}

type AuditGetRequest struct {
	ofAccount
	Actor string         `json:"actor" rule:"max=2048" doc:"Only acts of this AWS identity, API key or user"`
	Since *collab.Millis `json:"since" rule:"notnull,time" doc:"Only acts since this time"`
	Until *collab.Millis `json:"until" rule:"notnull,time" doc:"Only acts until this time"`
	rpc.PageRequest
}

// AuditGet is POST /operator/audit/get.
func AuditGet() rpc.Endpoint {
	return reading("audit/get", rpc.Method((*Service).AuditGet), `
Get the audit log of an account. It lists who changed the account, its credentials, settings and
access, deleted organizations or personal data, or issued tokens, newest first. All writes of
operators are in it. It stores ids and names of fields, and also lists deleted accounts. A page may
be empty and still have a token.`)
}

// mostActs limits the acts that a page looks at.
const mostActs = 1_000

// AuditGet returns a page of acts.
func (s *Service) AuditGet(ctx context.Context, call *rpc.Call, req *AuditGetRequest) (*rpc.Page[Act], error) {
	var at accounts.ActPosition
	page, err := rpc.NewPage[Act](call, "act", req.PageRequest, &at)
	if err != nil {
		return nil, err
	}
	limit := mostActs
	if req.Actor == "" {
		limit = min(limit, page.Most()+1) // one more shows that the list continues
	}
	until := collab.MaxMillis
	if req.Until != nil {
		until = *req.Until
	}
	acts, more, err := s.Accounts.Acts(ctx, req.AccountID, collab.Deref(req.Since), until, at, limit)
	if err != nil {
		return nil, err
	}
	for _, a := range acts {
		matches := req.Actor == "" || a.Actor == req.Actor
		if matches && !page.Add(Act{collab.Timestamp(a.At), a.By, a.Actor, a.Operation, a.IDs, a.Omitted, a.Fields, a.Error, a.RequestID}) {
			page.Next(at)
			return page, nil
		}
		at = accounts.ActPosition{At: a.At, ID: a.ID}
	}
	if more {
		page.Next(at)
	}
	return page, nil
}
