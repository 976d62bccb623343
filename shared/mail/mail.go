// Package mail renders notification emails and sends them through SES v2. Only this package imports
// SES.
//
// It slows the start of a function, so only `deliver` links it.
package mail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/platform"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// ErrRejected means that an email will never be sent: its recipient has no usable address, or SES
// refused it.
var ErrRejected = errors.New("email rejected")

// ErrThrottled means that the AWS account reached its sending rate or daily quota in SES. The email
// was not sent.
var ErrThrottled = errors.New("email throttled")

// ErrUnconfirmed means that SES did not answer in time. The email may have been sent.
var ErrUnconfirmed = errors.New("email not confirmed")

// maxHeader is the longest header value that SES takes in every region.
const maxHeader = 870

// maxPage is the longest URL of the unsubscribe page; the token needs the rest of the header.
const maxPage = 300

// Options are the email settings of a deployment.
type Options struct {
	// sender, a verified identity of SES: address@example.com, or Name <address@example.com>
	From string
	// of SES, for the suppression and metrics of bounces and complaints; "" for none
	ConfigurationSet string
	Look             collab.MailLook

	// Unsubscribe is the URL of the unsubscribe page, which gets tokens as `?token=`. It is an
	// https URL, or an http URL of localhost. If it is "", recipients unsubscribe by an email to
	// From.
	Unsubscribe string
}

// Mailer renders and sends emails. It is safe for concurrent use.
type Mailer struct {
	ses       *sesv2.Client
	from      *netmail.Address
	options   Options
	templates templates
}

// New returns the mailer of a deployment. It returns an error if an option is invalid.
func New(cfg aws.Config, o Options) (*Mailer, error) {
	from, err := parseFrom(o.From)
	if err != nil {
		return nil, err
	}
	if err := checkUnsubscribe(o.Unsubscribe); err != nil {
		return nil, err
	}
	for name, err := range map[string]error{
		"sender's name": collab.CheckMailName(o.Look.FromName), "product in emails": collab.CheckMailName(o.Look.Product),
		"link in emails": collab.CheckMailLink(o.Look.Link),
	} {
		if err != nil {
			return nil, fmt.Errorf("the %s %w", name, err)
		}
	}
	m := &Mailer{from: from, options: o, templates: newTemplates()}
	m.ses = sesv2.NewFromConfig(cfg, func(o *sesv2.Options) {
		// SES has no idempotency token, so only retry errors that surely did not send the email.
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = 4
			o.MaxBackoff = time.Second
			o.Retryables = []retry.IsErrorRetryable{throttles}
		})
	})
	return m, nil
}

func parseFrom(text string) (*netmail.Address, error) {
	from, err := netmail.ParseAddress(text)
	if err == nil {
		from.Address, err = collab.MailAddress(from.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("the sender %q of emails is not an address such as service@example.com", text)
	}
	return from, nil
}

func checkUnsubscribe(text string) error {
	u, err := url.Parse(text)
	here := err == nil && u.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
	if text != "" &&
		(err != nil || u.Scheme != "https" && !here || u.RawQuery != "" || !isPrintable(text) || strings.ContainsAny(text, `<>," `) || len(text) > maxPage) {
		return fmt.Errorf("the URL %q to unsubscribe by is not an https URL of at most %d characters", text, maxPage)
	}
	return nil
}

func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return false
		}
	}
	return true
}

// CreateIdentity creates an identity for the address in From if it does not exist. It is for the
// local cloud, which verifies identities without proof.
func CreateIdentity(ctx context.Context, cfg aws.Config, from string) error {
	address, err := parseFrom(from)
	if err != nil {
		return err
	}
	_, err = sesv2.NewFromConfig(cfg).CreateEmailIdentity(ctx, &sesv2.CreateEmailIdentityInput{EmailIdentity: &address.Address})
	if _, exists := errors.AsType[*types.AlreadyExistsException](err); exists {
		return nil
	}
	return err
}

// attemptTime limits a call to SES. A timeout is not retried, because the email may have been sent.
const attemptTime = 10 * time.Second

// Send renders and sends an email. It returns an error that wraps ErrRejected if a retry is
// useless, ErrThrottled if a retry is useful later, and ErrUnconfirmed if the email may have been
// sent. After other errors, a retry is possible, and may send the email twice if the connection
// broke.
func (m *Mailer) Send(ctx context.Context, n Email) error {
	to, err := collab.MailAddress(collab.Deref(n.To.Email))
	if err != nil {
		return fmt.Errorf("%w: the recipient's address %w", ErrRejected, err)
	}
	content, err := m.Render(n)
	if err != nil {
		return err
	}
	utf8 := func(text string) *types.Content { return &types.Content{Data: &text, Charset: aws.String("UTF-8")} }
	var set *string
	if m.options.ConfigurationSet != "" {
		set = &m.options.ConfigurationSet
	}
	from := netmail.Address{Name: cmp.Or(content.FromName, m.from.Name), Address: m.from.Address}
	_, err = m.ses.SendEmail(platform.WithAttemptTime(ctx, attemptTime), &sesv2.SendEmailInput{
		FromEmailAddress:     aws.String(from.String()),
		Destination:          &types.Destination{ToAddresses: []string{to}},
		ConfigurationSetName: set,
		EmailTags:            []types.MessageTag{{Name: aws.String("account"), Value: aws.String(tagValue(n.Account))}},
		Content: &types.EmailContent{Simple: &types.Message{
			Subject: utf8(content.Subject),
			Body:    &types.Body{Text: utf8(content.Text), Html: utf8(content.HTML)},
			Headers: m.headers(n, content.Unsubscribe),
		}},
	})
	if err != nil && m.rejects(err) {
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	if _, late := errors.AsType[platform.NoAnswer](err); late {
		return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
	}
	if throttles.IsErrorRetryable(err) == aws.TrueTernary {
		return fmt.Errorf("%w: %w", ErrThrottled, err)
	}
	return err
}

// throttles are SES errors that mean "not sent, try later".
var throttles = retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}

// rejects reports whether an SES error concerns only this email. An unverified sender concerns all
// emails, which wait until the operator fixes it.
func (m *Mailer) rejects(err error) bool {
	if rejected, ok := errors.AsType[*types.MessageRejected](err); ok {
		return !strings.Contains(rejected.ErrorMessage(), m.from.Address)
	}
	_, bad := errors.AsType[*types.BadRequestException](err)
	return bad
}

// tagValue returns an account id as a message tag. If the id has characters other than letters,
// digits, `_` and `-`, it returns a hash.
func tagValue(account string) string {
	if account != "" && strings.Trim(account, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return account
	}
	hash := sha256.Sum256([]byte(account))
	return "sha256-" + hex.EncodeToString(hash[:16])
}

// headers returns the headers that SES does not add. SES sets Message-ID, so emails about a thread
// refer to an invented id, which groups them in email programs. If the unsubscribe link is too long
// for a header, only the text has it.
func (m *Mailer) headers(n Email, unsubscribe string) []types.MessageHeader {
	header := func(name, value string) types.MessageHeader { return types.MessageHeader{Name: &name, Value: &value} }
	// RFC 3834: suppresses automatic replies
	list := []types.MessageHeader{header("Auto-Submitted", "auto-generated")}
	if t := n.Threads[0]; t.AnnotationID != "" && len(n.Threads) == 1 {
		sum := sha256.Sum256([]byte(strings.Join([]string{n.Account, n.OrganizationID, t.DocumentID, t.AnnotationID}, "\x00")))
		thread := "<" + hex.EncodeToString(sum[:16]) + m.from.Address[strings.LastIndexByte(m.from.Address, '@'):] + ">"
		list = append(list, header("References", thread))
	}
	if value := "<" + unsubscribe + ">"; len(value) <= maxHeader {
		list = append(list, header("List-Unsubscribe", value))
		if strings.HasPrefix(unsubscribe, "http") {
			list = append(list, header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
		}
	}
	return list
}

// unsubscribeURL returns the recipient's unsubscribe URL: a mailto: URL if there is no page.
func (m *Mailer) unsubscribeURL(n Email) string {
	if m.options.Unsubscribe == "" || n.Unsubscribe == "" {
		return "mailto:" + m.from.Address + "?subject=unsubscribe"
	}
	return m.options.Unsubscribe + "?token=" + url.QueryEscape(n.Unsubscribe)
}
