package rpc_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func newServer() *rpc.Server {
	return &rpc.Server{Now: func() time.Time { return noon }, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
}

var identity = collab.Identity{Account: "acme", APIKey: "key"}

// post sends a body to a handler as an authenticated caller.
func post(t testing.TB, h http.Handler, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v2/things/add", strings.NewReader(body))
	r = r.WithContext(collab.WithIdentity(r.Context(), identity))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

type addThings struct {
	OrganizationID string  `json:"organizationId" rule:"required,id"`
	Things         []thing `json:"things" rule:"required,nonempty,max=3"`
}

type thing struct {
	ID      int64                `json:"id" rule:"commentid"`
	From    *collab.User         `json:"from"`
	Context collab.JSON          `json:"context" rule:"object"`
	Status  rpc.Opt[status]      `json:"status"`
	Change  *rpc.One[status]     `json:"change"`
	Any     rpc.Opt[collab.JSON] `json:"any"`
	At      *int64               `json:"at" rule:"time"`
	Tags    []string             `json:"tags" rule:"notnull,max=2,each=id"`
}

type status struct {
	ID   string `json:"id"`
	Type string `json:"type" rule:"oneof=default|ongoing|terminal"`
}

func (s *status) Validate(m *rpc.Mistakes) {
	if s.ID == "" {
		m.Add("id", "must be there")
	}
}

func echo(ctx context.Context, call *rpc.Call, req *addThings) (any, error) {
	call.Items = len(req.Things)
	call.Message = "ok <b>"
	return req, nil
}

func TestSmoke(t *testing.T) {
	h := rpc.Handle(newServer(), echo)
	for _, b := range []string{
		`{"data":{"organizationId":"o","things":[{"id":5.0,"context":{ "a" : 1.50 },"status":{"id": "x","type":"default"},"at":1.7e12,"change":[{"id":"u"}]}]}}`,
		`{"data":{"organizationId":"o","things":[{"id":5.5,"context":[],"status":null,"at":-1,"change":[],"tags":null,"x y":1}]}, "z":1}`,
		`{"data":{"organizationId":"","things":[{"status":{}},{"from":{}},4,null,{}]}}`,
		`{"data":{"a":1,"a":1}}`,
		"{\"data\":\n{\"a\":tru}}", `{"data":{}} {`, `[]`, `{}`, `{"data":null}`, `{"data":"\ud800"}`, `{"data":{"organizationId":"\u00e9"`,
		strings.Repeat("[", 100),
	} {
		w := post(t, h, b)
		out, _ := io.ReadAll(w.Body)
		t.Logf("%s\n%d %s", b, w.Code, bytes.TrimSpace(out))
	}
}
