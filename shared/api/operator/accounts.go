package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/quota"
)

// Account is an account as it is answered.
type Account struct {
	AccountID string           `json:"accountId"`
	Name      string           `json:"name"`
	Disabled  bool             `json:"disabled"`
	CreatedAt collab.Timestamp `json:"createdAt"`
}

func shown(a collab.Account) Account {
	return Account{a.ID, a.Name, a.Disabled, collab.Timestamp(a.CreatedAt)}
}

// AccountsGetRequest asks for the accounts of accountIds that exist, or for all.
type AccountsGetRequest struct {
	AccountIDs []string `json:"accountIds" rule:"notnull,nonempty,max=30,each=id" doc:"These alone, in this order; those that do not exist are left out"`
	rpc.PageRequest
}

// AccountsGet is POST /operator/accounts/get.
func AccountsGet() rpc.Endpoint {
	return reading("accounts/get", rpc.Method((*Service).AccountsGet), `Lists the accounts of the deployment.`)
}

// AccountsGet returns a page of accounts by id.
func (s *Service) AccountsGet(ctx context.Context, call *rpc.Call, req *AccountsGetRequest) (*rpc.Page[Account], error) {
	var last string
	page, err := rpc.NewPage[Account](call, "account", req.PageRequest, &last)
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.AccountIDs)
	for _, id := range ids[slices.Index(ids, last)+1:] {
		a, err := s.Accounts.Account(ctx, id)
		if collab.CodeOf(err) == collab.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !page.Add(shown(a)) {
			page.Next(last)
			break
		}
		last = id
	}
	if ids != nil {
		return page, nil
	}
	list, err := s.Accounts.Accounts(ctx, last, page.Most())
	for _, a := range list {
		page.Add(shown(a))
		last = a.ID
	}
	if len(list) > 0 && page.Most() == 0 {
		page.Next(last)
	}
	return page, err
}

// AccountsAddRequest names a new account.
type AccountsAddRequest struct {
	AccountID string `json:"accountId" rule:"required" doc:"Its id: 1 to 64 letters, digits, _ and -. It is part of logs, and cannot change"`
	Name      string `json:"name" rule:"max=680" doc:"Its name; its id where it is left out"`
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// Validate checks that the id stands in a shell, a URL and a log as it is.
func (r *AccountsAddRequest) Validate(m *rpc.Violations) {
	if id := r.AccountID; len(id) > 64 || strings.Trim(id, wordCharacters) != "" || strings.HasPrefix(id, "-") {
		m.Add("accountId", "must be 1 to 64 letters, digits, _ and -, and not begin with -")
	}
}

// Credentials are an API key with a token of it, which is shown this once.
type Credentials struct {
	AccountID string `json:"accountId"`
	APIKey    string `json:"apiKey"`
	Token     string `json:"token"`
}

// AccountsAdd is POST /operator/accounts/add.
func AccountsAdd() rpc.Endpoint {
	return changing("accounts/add", rpc.Method((*Service).AccountsAdd), "", `
Adds an account with its first API key and token. The token is shown this once: keep it where your back end keeps its secrets.

ALREADY_EXISTS when there is one of this id.`)
}

// AccountsAdd adds an account with an API key.
func (s *Service) AccountsAdd(ctx context.Context, call *rpc.Call, req *AccountsAddRequest) (Credentials, error) {
	a := collab.Account{ID: req.AccountID, Name: req.Name, CreatedAt: call.Millis()}
	if a.Name == "" {
		a.Name = a.ID
	}
	if err := s.Accounts.AddAccount(ctx, a); err != nil {
		return Credentials{}, err
	}
	return s.addKey(ctx, call, a.ID)
}

// AccountsUpdateRequest changes the name of an account, or whether it is disabled.
type AccountsUpdateRequest struct {
	ofAccount
	Name     *string `json:"name" rule:"notnull,nonempty,max=680" doc:"Its name"`
	Disabled *bool   `json:"disabled" rule:"notnull" doc:"true: its credentials are refused within 60 s, and its deliveries wait"`
}

// AccountsUpdate is POST /operator/accounts/update.
func AccountsUpdate() rpc.Endpoint {
	return changing("accounts/update", rpc.Method((*Service).AccountsUpdate),
		"A disabled account's back ends are refused within 60 s, and its deliveries wait.", `
Changes the name of an account, or disables or enables it. Functions follow within 60 s.`)
}

// AccountsUpdate changes an account.
func (s *Service) AccountsUpdate(ctx context.Context, call *rpc.Call, req *AccountsUpdateRequest) (Account, error) {
	a, err := s.Accounts.ChangeAccount(ctx, req.AccountID, func(a *collab.Account) error {
		set(&a.Name, req.Name)
		set(&a.Disabled, req.Disabled)
		return nil
	})
	call.Message = fmt.Sprintf("account %q was updated: functions follow within 60 s", req.AccountID)
	return shown(a), err
}

// set sets a value that a request gives.
func set[T any](value *T, given *T) {
	if given != nil {
		*value = *given
	}
}

// AccountsDelete is POST /operator/accounts/delete.
func AccountsDelete() rpc.Endpoint {
	return changing("accounts/delete", rpc.Method((*Service).AccountsDelete), "The account and its API keys are deleted for good.", `
Deletes an account with its API keys.

FAILED_PRECONDITION unless it is disabled and has no organizations.`)
}

// AccountsDelete deletes an account.
func (s *Service) AccountsDelete(ctx context.Context, call *rpc.Call, req *ofAccount) (any, error) {
	call.Message = fmt.Sprintf("account %q was deleted", req.AccountID)
	return nil, s.Accounts.DeleteAccount(ctx, req.AccountID)
}

// Usage is how much of a quota an account may use at once.
type Usage struct {
	Quota       string `json:"quota"`
	Unlimited   bool   `json:"unlimited,omitempty"`
	Left        int64  `json:"left"`
	Most        int64  `json:"most"`
	Seconds     int64  `json:"seconds" doc:"Within these, all of it comes back, evenly"`
	WaitSeconds int64  `json:"waitSeconds,omitempty" doc:"How long requests are refused, or mails wait"`
}

// AccountsUsageGet is POST /operator/accounts/usage/get.
func AccountsUsageGet() rpc.Endpoint {
	return reading("accounts/usage/get", rpc.Method((*Service).AccountsUsageGet), `
Shows what an account may use of its quotas at once. A process adds up to a hundredth of a quota before that counts here.`)
}

// AccountsUsageGet returns what is left of each quota.
func (s *Service) AccountsUsageGet(ctx context.Context, call *rpc.Call, req *ofAccount) ([]Usage, error) {
	a, err := s.Accounts.Account(ctx, req.AccountID)
	if err != nil {
		return nil, err
	}
	paid, err := s.Accounts.Paid(ctx, a.ID)
	list := make([]Usage, quota.Kinds)
	for k, limit := range quota.Of(a.Settings) {
		u := Usage{Quota: quota.Kind(k).String(), Unlimited: limit.Most == 0, Most: limit.Most, Seconds: int64(limit.Per.Seconds())}
		if !u.Unlimited {
			until := time.UnixMilli(paid[k])
			used := float64(max(0, until.Sub(call.Now))) / float64(limit.Per) * float64(limit.Most)
			u.Left = max(0, limit.Most-int64(used+0.5))
			u.WaitSeconds = int64(limit.Wait(until, call.Now).Seconds())
		}
		list[k] = u
	}
	return list, err
}
