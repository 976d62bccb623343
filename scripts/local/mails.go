package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"collabdata/localstack"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// mail is a mail that was sent.
type mail struct {
	Number         int // from 1, in the order sent
	Time, From, To string
	Subject, Text  string
	html           string
}

var errNoMailService = errors.New("no mail is sent, as the environment names no mail service: unset AWS_ENDPOINT_URL_SQS, or set AWS_ENDPOINT_URL_SESV2")

// sent returns the mails that were sent, newest first.
func (c *clouds) sent(r *http.Request) ([]mail, error) {
	if c.ses == nil {
		return nil, errNoMailService
	}
	list, err := localstack.Mails(r.Context(), c.ses.url("AWS_ENDPOINT_URL_SESV2"), localstack.Account)
	if err != nil {
		return nil, err
	}
	mails := make([]mail, len(list))
	for i, m := range list {
		seconds, part := math.Modf(m.At)
		mails[i] = mail{
			Number: i + 1, Time: clock(time.Unix(int64(seconds), int64(part*1e9))), From: plain(m.From), To: strings.Join(m.To, ", "),
			Subject: m.Subject, Text: m.Text, html: m.HTML,
		}
	}
	slices.Reverse(mails)
	return mails, nil
}

// plain returns a sender as readers see it: the plain address where it has no name.
func plain(from string) string {
	if address, ok := strings.CutPrefix(from, "<"); ok {
		return strings.TrimSuffix(address, ">")
	}
	return from
}

func (p *pages) mailList(w http.ResponseWriter, r *http.Request) {
	mails, err := p.mails(r)
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	p.render(w, "mails.html", policy, struct {
		view
		Mails                 []mail
		Problem, Window, Curl string
	}{p.view("Mail", "/mail", true), mails, problem, fmt.Sprintf("%.0f seconds", mailWindow.Seconds()), tagCurl(p.url)})
}

func (p *pages) mailPage(w http.ResponseWriter, r *http.Request) {
	if m, ok := p.mail(w, r); ok {
		p.render(w, "mail.html", policy, struct {
			view
			Mail mail
		}{p.view(m.Subject, "/mail/", false), m})
	}
}

// mailHTML serves the mail as a reader's program shows it: without scripts, and without anything from elsewhere.
func (p *pages) mailHTML(w http.ResponseWriter, r *http.Request) {
	if m, ok := p.mail(w, r); ok {
		serve(w, "text/html; charset=utf-8", mailPolicy, []byte(m.html))
	}
}

// mail returns the mail that the request is about, or answers that there is none.
func (p *pages) mail(w http.ResponseWriter, r *http.Request) (mail, bool) {
	mails, err := p.mails(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return mail{}, false
	}
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 1 || number > len(mails) {
		http.Error(w, "there is no mail of this number: see /mail", http.StatusNotFound)
		return mail{}, false
	}
	return mails[len(mails)-number], true
}

// watchMails tells of each mail that SES accepts through a configuration.
func watchMails(cfg aws.Config, told func(to, subject string)) aws.Config {
	cfg.HTTPClient = mailWatch{cfg.HTTPClient, told}
	return cfg
}

// mailWatch is an HTTP client that looks at the calls that send a mail.
type mailWatch struct {
	next aws.HTTPClient
	told func(to, subject string)
}

// Do does the call.
func (m mailWatch) Do(r *http.Request) (*http.Response, error) {
	next := m.next
	if next == nil {
		next = http.DefaultClient
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/outbound-emails") || r.Body == nil {
		return next.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	res, err := next.Do(r)
	var sent struct {
		Destination struct{ ToAddresses []string }
		Content     struct {
			Simple struct{ Subject struct{ Data string } }
		}
	}
	if err == nil && res.StatusCode == http.StatusOK && json.Unmarshal(body, &sent) == nil {
		m.told(strings.Join(sent.Destination.ToAddresses, ", "), sent.Content.Simple.Subject.Data)
	}
	return res, err
}
