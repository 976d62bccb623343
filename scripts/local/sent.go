package main

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"collabdata/localstack"
)

type mail struct {
	Number         int // from 1, in sending order
	Time, From, To string
	Subject, Text  string
	html           string
}

var errNoMailService = errors.New(
	"no email is sent, because the environment names no email service: unset AWS_ENDPOINT_URL_SQS, or set AWS_ENDPOINT_URL_SESV2",
)

// sent returns the sent emails, newest first.
func (c *clouds) sent(r *http.Request) ([]mail, error) {
	if c.ses == nil {
		return nil, errNoMailService
	}
	list, err := localstack.Emails(r.Context(), c.ses.url("AWS_ENDPOINT_URL_SESV2"), localstack.Account)
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

// plain returns the sender for display: the plain address if it has no name.
func plain(from string) string {
	if address, ok := strings.CutPrefix(from, "<"); ok {
		return strings.TrimSuffix(address, ">")
	}
	return from
}

// has reports whether an email's recipient, subject or text contains the words, ignoring case.
func (m mail) has(words string) bool {
	text := strings.ToLower(m.To + "\n" + m.Subject + "\n" + m.Text)
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
