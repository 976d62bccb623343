package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"collabdata/scripts/operator"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/webhooks"
	"collabdata/shared/collab"
)

// change is something that a form asks for.
type change struct {
	name   string // below Path
	params string
	ask    func(ctx context.Context, v *view) (string, error) // says what it does, or why it cannot; nil: there is no question
	do     func(ctx context.Context, v *view) (string, error) // returns the address of the page to show then, "" where it is v
}

var changes = []change{
	{"account/disable", inAccount, says(operator.AskDisableAccount, "account"), setAccount(true)},
	{"account/enable", inAccount, nil, setAccount(false)},
	{"settings", "account setting", askSetting, setSetting},
	{"key/create", inAccount, says("Account %q gets a further API key with a token. The token is shown once.", "account"), createKey},
	{"key/delete", "key", askDeleteKey, deleteKey},
	{"organization/disable", inOrganization, says(operator.AskDisableOrganization, "organization", "account"), setOrganization(true)},
	{"organization/enable", inOrganization, nil, setOrganization(false)},
	{"webhook/replay", "account webhook", askReplay, replay},
	{
		"delivery/replay", "account webhook event",
		says("Event %q is posted to webhook %q again, whatever had become of it.", "event", "webhook"), replayOne,
	},
	{"quarantine/retry", "account event", says("Event %q of account %q is delivered again, from where it stood.", "event", "account"), retry},
	{"dead-letters/redrive", "queue", says("All dead letters of the queue %s are sent to it again.", "queue"), redrive},
}

// says is a question that names values of the form.
func says(question string, names ...string) func(context.Context, *view) (string, error) {
	return func(_ context.Context, v *view) (string, error) {
		values := make([]any, len(names))
		for i, name := range names {
			values[i] = v.Get(name)
		}
		return fmt.Sprintf(question, values...), nil
	}
}

// maxForm bounds what a form holds, in bytes.
const maxForm = 64 << 10

// change asks whether to make a change, and once that is confirmed makes it.
func (s *Console) change(w http.ResponseWriter, r *http.Request, c change) {
	v := s.newView(r.Context(), "", nil)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, v, collab.Errorf(collab.InvalidArgument, "the form cannot be read: %v", err))
		return
	}
	v.values = r.PostForm
	if !same(v.Get("form"), s.form) {
		s.fail(w, v, collab.Errorf(collab.PermissionDenied, "the form is not of a page of this run of the console: load that page again"))
		return
	}
	ctx := collab.WithUsage(r.Context(), v.usage)
	err := v.check(strings.Fields(c.params))
	if err == nil && c.ask != nil && v.Get("confirmed") == "" {
		var question string
		if question, err = c.ask(ctx, v); err == nil {
			f := form{Action: Path + "/" + c.name, Label: "Do it", Hidden: [][2]string{{"confirmed", "yes"}}}
			for name := range v.values {
				f.Hidden = append(f.Hidden, [2]string{name, v.Get(name)})
			}
			if v.Get("account") != "" {
				v.inAccount()
			}
			v.Title = "Do it?"
			v.add(&section{Rows: [][]cell{{text(question)}}, Forms: []form{f}})
			s.render(w, http.StatusOK, v)
			return
		}
	}
	var to string
	if err == nil {
		to, err = c.do(ctx, v)
	}
	switch {
	case err != nil:
		s.fail(w, v, err)
	case to != "":
		http.Redirect(w, r, to, http.StatusSeeOther)
	default:
		s.render(w, http.StatusOK, v)
	}
}

func (v *view) call() *rpc.Call { return operator.Call(v.Directory.Now(), v.Random, v.Get("account")) }

func setAccount(disabled bool) func(context.Context, *view) (string, error) {
	return func(ctx context.Context, v *view) (string, error) {
		_, err := operator.SetAccountDisabled(ctx, v.Directory, v.Get("account"), disabled)
		return v.at("/account", inAccount), err
	}
}

func setOrganization(disabled bool) func(context.Context, *view) (string, error) {
	return func(ctx context.Context, v *view) (string, error) {
		err := operator.SetOrganizationDisabled(ctx, v.Directory, v.call(), v.Get("organization"), disabled)
		return v.at("/organization", inOrganization), err
	}
}

// assign changes the setting that the form names.
func (v *view) assign(s *operator.Settings) error {
	err := operator.Rules{CheckURL: v.CheckURL, Secret: []byte(v.Get("secret"))}.Set(s, v.Get("setting"), v.Get("value"))
	if err != nil {
		err = collab.Errorf(collab.InvalidArgument, "%v", err)
	}
	return err
}

func askSetting(ctx context.Context, v *view) (string, error) {
	settings, err := operator.ReadSettings(ctx, v.Directory, v.Get("account"))
	before := settings
	if err == nil {
		err = v.assign(&settings)
	}
	if err != nil {
		return "", err
	}
	for _, s := range (operator.Rules{}).Settings() {
		if s.Name == v.Get("setting") {
			return fmt.Sprintf("The setting %s of account %q is changed from %s to %s. Requests and deliveries follow it within 60 s.",
				s.Name, v.Get("account"), s.Get(before), s.Get(settings)), nil
		}
	}
	return "", nil
}

func setSetting(ctx context.Context, v *view) (string, error) {
	_, err := operator.ChangeSettings(ctx, v.Directory, v.Get("account"), v.assign)
	return v.at("/account", "account"), err
}

func createKey(ctx context.Context, v *view) (string, error) {
	v.inAccount()
	v.Title = "An API key"
	key, token, err := operator.AddKey(ctx, v.Directory, v.Random, v.Get("account"))
	v.add(&section{
		Good: "It was made. The token is shown this once: keep it where your back end keeps its secrets.",
		Rows: [][]cell{fact("Account", link(v.Get("account"), v.at("/account", "account"))), fact("Key", text(key)), fact("Token", text(token))},
	})
	return "", err
}

func askDeleteKey(ctx context.Context, v *view) (string, error) {
	k, err := v.Directory.APIKey(ctx, v.Get("key"))
	return fmt.Sprintf(operator.AskDeleteKey, k.Account), err
}

func deleteKey(ctx context.Context, v *view) (string, error) {
	account, err := v.Directory.DeleteAPIKey(ctx, v.Get("key"))
	return at("/account", "account", account), err
}

func (v *view) webhooks() *webhooks.Service { return &webhooks.Service{Store: v.outbox} }

// since is the time from which on the form asks for a replay.
func (v *view) since() (collab.Millis, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, v.Get("since")); err == nil && t.UnixMilli() >= 0 {
			return t.UnixMilli(), nil
		}
	}
	return 0, collab.Errorf(collab.InvalidArgument, "the time is %q: write it like 2027-01-31T12:00", v.Get("since"))
}

func (v *view) replays() (f collab.DeliveryFilter, err error) {
	state := v.Get("state")
	if !slices.Contains(states(), state) {
		return f, collab.Errorf(collab.InvalidArgument, "state must be one of %v", states())
	}
	if f.After, err = v.since(); state != anyState {
		f.State = collab.DeliveryState(state)
	}
	return f, err
}

func askReplay(_ context.Context, v *view) (string, error) {
	f, err := v.replays()
	return fmt.Sprintf("What webhook %q was sent since %s UTC is posted again, oldest event first: deliveries that are %s.",
		v.Get("webhook"), clock(f.After).Text, cmp.Or(string(f.State), "in any state")), err
}

// replayTime is how long one change goes on with replaying.
const replayTime = 40 * time.Second

func replay(ctx context.Context, v *view) (string, error) {
	f, err := v.replays()
	if err != nil {
		return "", err
	}
	end := time.Now().Add(replayTime)
	replayed, next := 0, v.Get("after")
	for first := true; first || next != "" && time.Now().Before(end); first = false {
		var n int
		n, next, err = v.webhooks().ReplaySince(ctx, v.Get("account"), v.Get("webhook"), f, next, 1_000)
		if replayed += n; err != nil {
			return "", err
		}
	}
	v.inAccount()
	v.Title = "Replay"
	s := &section{
		Good: fmt.Sprintf("%s will be posted again, the first within a minute or so.", rpc.Count(replayed, "delivery")),
		Rows: [][]cell{fact("Webhook", link(v.Get("webhook"), v.at("/webhook", "account webhook")))},
	}
	if next != "" {
		s.Forms = []form{v.ask("webhook/replay", "Go on with the others", "account webhook since state confirmed", "after", next)}
	}
	v.add(s)
	return "", nil
}

func replayOne(ctx context.Context, v *view) (string, error) {
	event := v.Get("event")
	_, err := v.webhooks().ReplayDeliveries(ctx, v.call(), &webhooks.ReplayDeliveriesRequest{WebhookID: v.Get("webhook"), EventID: &event})
	return v.at("/delivery", "account webhook event"), err
}

func retry(ctx context.Context, v *view) (string, error) {
	return eventAt(v.Get("account"), v.Get("event")), v.outbox.Retry(ctx, collab.EventRef{Account: v.Get("account"), ID: v.Get("event")})
}

func redrive(ctx context.Context, v *view) (string, error) {
	if !slices.Contains(queues, v.Get("queue")) {
		return "", collab.Errorf(collab.InvalidArgument, "queue must be one of %v", queues)
	}
	live, err := v.Queue(ctx, v.Get("queue"))
	if err != nil {
		return "", err
	}
	moved, unreadable, err := operator.Redrive(ctx, v.Get("queue"), live)
	if err != nil {
		return "", fmt.Errorf("%d were sent again. Nothing is lost: do it again: %w", moved, err)
	}
	v.Title = "Dead letters"
	s := &section{
		Good: fmt.Sprintf("%d were sent again, and are delivered within moments. Those that fail again come back after some minutes.", moved),
		Rows: [][]cell{{link("Dead letters", at("/dead-letters"))}},
	}
	if unreadable > 0 {
		s.Bad = fmt.Sprintf("%d are not of a form that this version knows, and stay.", unreadable)
	}
	v.add(s)
	return "", nil
}
