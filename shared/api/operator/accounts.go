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

// Account is an account in a response.
type Account struct {
	AccountID string           `json:"accountId"`
	Name      string           `json:"name"`
	Disabled  bool             `json:"disabled"`
	CreatedAt collab.Timestamp `json:"createdAt"`
}

func shown(a collab.Account) Account {
	return Account{a.ID, a.Name, a.Disabled, collab.Timestamp(a.CreatedAt)}
}

// AccountsGetRequest selects the existing accounts of accountIds, or all.
type AccountsGetRequest struct {
	AccountIDs []string `json:"accountIds" rule:"notnull,nonempty,max=30,each=id" doc:"Only these, in this order; missing ones are skipped"`
	rpc.PageRequest
}

// AccountsGet is POST /operator/accounts/get.
func AccountsGet() rpc.Endpoint {
	return reading("accounts/get", rpc.Method((*Service).AccountsGet), `List the accounts of the deployment.`)
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

type AccountsAddRequest struct {
	AccountID string `json:"accountId" rule:"required" doc:"Its id: 1 to 64 letters, digits, _ and -. It appears in logs, and cannot change"`
	Name      string `json:"name" rule:"max=680" doc:"Its name. Default: its id"`
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// Validate rejects ids that need quoting in a shell, a URL or a log.
func (r *AccountsAddRequest) Validate(m *rpc.Violations) {
	if id := r.AccountID; len(id) > 64 || strings.Trim(id, wordCharacters) != "" || strings.HasPrefix(id, "-") {
		m.Add("accountId", "must be 1 to 64 letters, digits, _ and -, and not begin with -")
	}
}

// Credentials are an API key and its token, which is shown only once.
type Credentials struct {
	AccountID string `json:"accountId"`
	APIKey    string `json:"apiKey"`
	Token     string `json:"token"`
}

// AccountsAdd is POST /operator/accounts/add.
func AccountsAdd() rpc.Endpoint {
	return changing("accounts/add", rpc.Method((*Service).AccountsAdd), "", `
Add an account with its first API key and token.

The token is shown only once: store it with your back end's secrets. The request fails with
ALREADY_EXISTS if the account already exists.`)
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

// AccountsUpdateRequest renames, disables or enables an account.
type AccountsUpdateRequest struct {
	ofAccount
	Name     *string `json:"name" rule:"notnull,nonempty,max=680" doc:"Its name"`
	Disabled *bool   `json:"disabled" rule:"notnull" doc:"true: its credentials are refused within 60 s, and its deliveries wait"`
}

// AccountsUpdate is POST /operator/accounts/update.
func AccountsUpdate() rpc.Endpoint {
	return changing("accounts/update", rpc.Method((*Service).AccountsUpdate),
		"Back ends of a disabled account are refused within 60 s, and its deliveries wait.", `
Update an account. This renames, disables or enables it. Functions follow within 60 s.`)
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

// set stores a given value.
func set[T any](value *T, given *T) {
	if given != nil {
		*value = *given
	}
}

// AccountsDelete is POST /operator/accounts/delete.
func AccountsDelete() rpc.Endpoint {
	return changing("accounts/delete", rpc.Method((*Service).AccountsDelete), "The account and its API keys are deleted permanently.", `
Delete an account with its API keys.

The request fails with FAILED_PRECONDITION if the account is enabled or has organizations.`)
}

// AccountsDelete deletes an account.
func (s *Service) AccountsDelete(ctx context.Context, call *rpc.Call, req *ofAccount) (any, error) {
	call.Message = fmt.Sprintf("account %q was deleted", req.AccountID)
	return nil, s.Accounts.DeleteAccount(ctx, req.AccountID)
}

// Usage is the remaining part of a quota.
type Usage struct {
	Quota       string `json:"quota"`
	Unlimited   bool   `json:"unlimited,omitempty"`
	Left        int64  `json:"left"`
	Most        int64  `json:"most"`
	Seconds     int64  `json:"seconds" doc:"The quota refills evenly within this time"`
	WaitSeconds int64  `json:"waitSeconds,omitempty" doc:"Time until requests are accepted, or emails sent, again"`
}

// AccountsUsageGet is POST /operator/accounts/usage/get.
func AccountsUsageGet() rpc.Endpoint {
	return reading("accounts/usage/get", rpc.Method((*Service).AccountsUsageGet), `
Get the remaining quotas of an account. A process can use up to a hundredth of a quota before it
counts here.`)
}

func (s *Service) AccountsUsageGet(ctx context.Context, call *rpc.Call, req *ofAccount) ([]Usage, error) {
	a, err := s.Accounts.Account(ctx, req.AccountID)
	if err != nil {
		return nil, err
	}
	paid, err := s.Accounts.Paid(ctx, quota.Payer{Account: a.ID})
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
