package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"collabdata/shared/client"
	"collabdata/shared/collab"
)

type apiCall struct {
	inAccount
	Path path   `arg:"" help:"Path of the operation, such as /v2/organizations/get."`
	Body string `arg:"" help:"Body of the request, as the reference shows it: {\"data\": {…}}."`
}

// path is the path of an operation of the API.
type path string

// Validate reports what is no path.
func (p path) Validate() error {
	if !strings.HasPrefix(string(p), "/v") {
		return fmt.Errorf("must be the path of an operation, such as /v2/organizations/get, not %q", string(p))
	}
	return nil
}

// ask asks before what deletes.
func (p *apiCall) ask(context.Context, *Run) (string, error) {
	if !strings.HasSuffix(string(p.Path), "/delete") {
		return "", nil
	}
	return fmt.Sprintf("%s of account %q deletes what is named here: %s", p.Path, p.Account, p.Body), nil
}

// callAPI calls an operation of the API, and reports its answer.
func callAPI(ctx context.Context, r *Run, p *apiCall) error {
	r.aboveAccount(p.Account)
	r.Title, r.Stay = "Answer of "+string(p.Path), true
	answer, err := r.call(ctx, p.Account, string(p.Path), []byte(p.Body))
	if answer.body.Len() > 0 {
		r.add(&Part{Text: indented(answer.body.Bytes())})
	}
	return err
}

// change calls an operation of the API that changes one thing. It fails as that does, and as the thing does.
func (r *Run) change(ctx context.Context, account id, path string, data any) error {
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	answer, err := r.call(ctx, account, path, body)
	if err != nil {
		return err
	}
	var items struct {
		Result struct{ Data map[string]json.RawMessage }
	}
	if err := json.Unmarshal(answer.body.Bytes(), &items); err != nil {
		return err
	}
	for _, text := range items.Result.Data {
		var item struct {
			Success *bool
			Code    collab.Code
			Message string
		}
		if json.Unmarshal(text, &item) == nil && item.Success != nil && !*item.Success {
			return collab.Errorf(item.Code, "%s", item.Message)
		}
	}
	return nil
}

// call calls an operation of the API in this process, as one with credentials of the account. It fails with what the operation answers
// where that is no success; the answer is there then, too.
func (r *Run) call(ctx context.Context, account id, path string, body []byte) (*answer, error) {
	a, err := r.accounts.Account(ctx, string(account))
	if err != nil {
		return new(answer), err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		return new(answer), collab.Errorf(collab.InvalidArgument, "path %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	w := &answer{status: http.StatusOK, header: http.Header{}}
	r.Service.HandlerFor(collab.Identity{Account: a.ID, Settings: a.Settings}).ServeHTTP(w, req)
	if w.status == http.StatusOK || w.status == http.StatusAccepted {
		return w, nil
	}
	var failure struct {
		Error struct {
			Status  collab.Code
			Message string
		}
	}
	if err := json.Unmarshal(w.body.Bytes(), &failure); err != nil {
		return w, err
	}
	return w, collab.Errorf(failure.Error.Status, "%s", failure.Error.Message)
}

// Client returns a client that calls the API in this process for an account, as its back end would. What the account's settings leave out is
// there, what is disabled is as if it were enabled, and webhooks hear of nothing that did not ask for it.
func (o *Operator) Client(ctx context.Context, account string) (*client.Client, error) {
	a, err := o.accounts.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	a.Settings.AdvancedQueriesOff, a.Settings.NotificationPreferencesOff, a.Settings.AllEvents = false, false, false
	handler := o.Service.WithDisabled().HandlerFor(collab.Identity{Account: a.ID, Settings: a.Settings})
	return client.New(client.Config{
		BaseURL: "http://in.process", HTTP: &http.Client{Transport: inProcess{handler}},
		Attempts: 100, Timeout: 10 * time.Minute, // it waits while an account is at its quotas
	}), nil
}

// inProcess sends requests to a handler.
type inProcess struct{ http.Handler }

// RoundTrip returns the handler's answer.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &answer{status: http.StatusOK, header: http.Header{}}
	p.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
}

// answer is what a handler answers.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header            { return a.header }
func (a *answer) WriteHeader(status int)         { a.status = status }
func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }
