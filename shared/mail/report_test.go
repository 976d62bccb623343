package mail

import (
	"os"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestReadReport checks the events of SES about an address that accepts no email, and other events.
func TestReadReport(t *testing.T) {
	const at, sent = 1772366462669, 1772366402012
	read := func(kind string) string {
		text, err := os.ReadFile("testdata/reports/" + kind + ".json")
		must.Do(t, err)
		return string(text)
	}
	bounce, complaint := read("bounce"), read("complaint")
	change := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("no %s", old)
		}
		return strings.ReplaceAll(text, old, new)
	}
	for name, test := range map[string]struct {
		text string
		want *Report
	}{
		"bounce":              {bounce, &Report{Reason: collab.EmailBounced, Token: "TOKEN", Time: at, Sent: sent}},
		"complaint":           {complaint, &Report{Reason: collab.EmailComplained, Token: "TOKEN", Time: at, Sent: sent}},
		"for now":             {change(bounce, `"Permanent"`, `"Transient"`), &Report{Token: "TOKEN", Time: at, Sent: sent}},
		"for some reason":     {change(bounce, `"Permanent"`, `"Undetermined"`), &Report{Token: "TOKEN", Time: at, Sent: sent}},
		"of another account":  {change(bounce, `"General"`, `"OnAccountSuppressionList"`), &Report{Token: "TOKEN", Time: at, Sent: sent}},
		"also a complaint":    {change(complaint, `"complaintSubType": null`, `"complaintSubType": "OnAccountSuppressionList"`), &Report{Token: "TOKEN", Time: at, Sent: sent}},
		"no spam after all":   {change(complaint, `"abuse"`, `"not-spam"`), &Report{Token: "TOKEN", Time: at, Sent: sent}},
		"a folded header":     {change(bounce, "token=TOKEN", `token=\r\n TOK\n\tEN`), &Report{Reason: collab.EmailBounced, Token: "TOKEN", Time: at, Sent: sent}},
		"without the header":  {change(bounce, `"List-Unsubscribe"`, `"X"`), &Report{Reason: collab.EmailBounced, Time: at, Sent: sent}},
		"an email to reply":   {change(bounce, "https://api.example/v2/notifications/unsubscribe?token=TOKEN", "mailto:a@example.com?subject=x"), &Report{Reason: collab.EmailBounced, Time: at, Sent: sent}},
		"a delivery":          {`{"eventType": "Delivery", "delivery": {}, "mail": {}}`, &Report{}},
		"a task":              {`{"v":2,"kind":"event","account":"acme","id":"e1"}`, nil},
		"no JSON":             {`Bounce`, nil},
		"without a kind":      {`{"mail": {}}`, nil},
		"a kind of no string": {`{"eventType": 1}`, nil},
	} {
		got, ok := ReadReport(test.text)
		if ok != (test.want != nil) {
			t.Errorf("%s: %v", name, ok)
			continue
		}
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Report{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if r, _ := ReadReport(bounce); !r.Names("Recipient@example.com") || r.Names("other@example.com") {
		t.Errorf("recipients %q", r.recipients)
	}
}
