package mail

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"
)

// Report is an event of SES about a sent email.
type Report struct {
	// Reason is why the address accepts no email; "" for events that say nothing about this.
	Reason collab.EmailState
	// Token is the unsubscribe token of the email, which names its recipient; "" for none.
	Token string
	Time  collab.Millis // of the report
	Sent  collab.Millis // of the email

	recipients []string
}

// Names reports whether the report is about an address.
func (r *Report) Names(address string) bool {
	return slices.ContainsFunc(r.recipients, func(a string) bool { return strings.EqualFold(strings.TrimSpace(a), address) })
}

// suppressed is the subtype of events of emails that SES did not try to send, because the address
// is in the list of the AWS account. It would tell one account about reports on emails of another.
const suppressed = "OnAccountSuppressionList"

// ReadReport returns the report in a message. It returns false if the message is no event of SES.
func ReadReport(text string) (*Report, bool) {
	type recipient struct {
		EmailAddress string `json:"emailAddress"`
	}
	var e struct {
		EventType string `json:"eventType"`
		Bounce    struct {
			Type       string      `json:"bounceType"`
			SubType    string      `json:"bounceSubType"`
			Recipients []recipient `json:"bouncedRecipients"`
			Timestamp  time.Time   `json:"timestamp"`
		} `json:"bounce"`
		Complaint struct {
			Feedback   string      `json:"complaintFeedbackType"`
			SubType    string      `json:"complaintSubType"`
			Recipients []recipient `json:"complainedRecipients"`
			Timestamp  time.Time   `json:"timestamp"`
		} `json:"complaint"`
		Mail struct {
			Timestamp time.Time `json:"timestamp"`
			Headers   []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"headers"`
		} `json:"mail"`
	}
	if json.Unmarshal([]byte(text), &e) != nil || e.EventType == "" {
		return nil, false
	}
	r := &Report{}
	addresses, at := e.Bounce.Recipients, e.Bounce.Timestamp
	switch b, c := e.Bounce, e.Complaint; e.EventType {
	case "Bounce":
		if b.Type == "Permanent" && b.SubType != suppressed {
			r.Reason = collab.EmailBounced
		}
	case "Complaint":
		addresses, at = c.Recipients, c.Timestamp
		if c.Feedback != "not-spam" && c.SubType != suppressed {
			r.Reason = collab.EmailComplained
		}
	}
	r.recipients = collab.Map(addresses, func(a recipient) string { return a.EmailAddress })
	r.Time, r.Sent = max(at.UnixMilli(), 0), max(e.Mail.Timestamp.UnixMilli(), 0)
	for _, h := range e.Mail.Headers {
		if !strings.EqualFold(h.Name, "List-Unsubscribe") {
			continue
		}
		link := strings.Trim(strings.Join(strings.Fields(h.Value), ""), "<>") // a long header may be folded
		if u, err := url.Parse(link); err == nil {
			r.Token = u.Query().Get("token")
		}
	}
	return r, true
}
