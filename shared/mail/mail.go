// Package mail renders notification mails and sends them through SES v2, of which it is the only importer.
//
// Linking it makes a function start later: only `deliver` is to do so.
package mail

import (
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"strings"
	"time"

	"collabdata/shared/awsconfig"
	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// ErrRejected says that this mail will never be sent, however often it is tried: its recipient has no address that mail can reach, or SES
// refused it.
var ErrRejected = errors.New("mail rejected")

// maxHeader is the length of the longest header value that SES takes in every region.
const maxHeader = 870

// Options are the deployment's settings of mail.
type Options struct {
	From string // sender: address@example.com, or Name <address@example.com>; a verified identity of SES

	// Unsubscribe is the https or mailto URL by which a recipient ends these mails; `{organizationId}` and `{userId}` in it become the
	// recipient's. An https URL is called with a POST when a mail program unsubscribes by one click (RFC 8058). "" is a mail to From.
	Unsubscribe string
}

// Mailer renders and sends mails. Safe for concurrent use.
type Mailer struct {
	ses         *sesv2.Client
	from        *netmail.Address
	unsubscribe string
	templates   templates
}

// New returns the mailer of a deployment. The error says which option is wrong.
func New(cfg aws.Config, o Options) (*Mailer, error) {
	from, err := parseFrom(o.From)
	if err != nil {
		return nil, err
	}
	m := &Mailer{from: from, unsubscribe: o.Unsubscribe, templates: newTemplates()}
	if o.Unsubscribe != "" {
		if err := checkUnsubscribe(o.Unsubscribe); err != nil {
			return nil, err
		}
	}
	m.ses = sesv2.NewFromConfig(cfg, func(o *sesv2.Options) {
		// SES knows no idempotency token: only what it surely did not take is sent again here.
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = 4
			o.MaxBackoff = time.Second
			o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
		})
	})
	return m, nil
}

func parseFrom(text string) (*netmail.Address, error) {
	from, err := netmail.ParseAddress(text)
	if err != nil || checkAddress(from.Address) != nil {
		return nil, fmt.Errorf("the sender %q of mail is not an address such as service@example.com", text)
	}
	return from, nil
}

// checkAddress reports whether SES takes an address: plain ASCII and nothing but the address.
func checkAddress(address string) error {
	parsed, err := netmail.ParseAddress(address)
	if err != nil {
		return err
	}
	if parsed.Name != "" || parsed.Address != address || len(address) > 320 || !isPrintable(address) {
		return errors.New("not a plain ASCII address")
	}
	return nil
}

func checkUnsubscribe(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "mailto" || !isPrintable(text) || strings.ContainsAny(text, `<>," `) || len(text) > maxHeader-2 {
		return fmt.Errorf("the URL %q to unsubscribe by is not an https or mailto URL", text)
	}
	return nil
}

// isPrintable reports whether a text is ASCII without control characters.
func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return false
		}
	}
	return true
}

// CreateIdentity makes the address of From an identity that may send, unless it is one. It is for the local cloud, where that needs no proof.
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

// attemptTime is how long SES may take for a mail: it is not tried again at once, for the mail may have been sent.
const attemptTime = 10 * time.Second

// Send renders a notice and sends it. The error wraps ErrRejected when trying again is of no use. After any other error the mail may be
// tried again: it was not sent, or, when the answer of SES was lost, may have been.
func (m *Mailer) Send(ctx context.Context, n Notice) error {
	to := collab.Deref(n.To.Email)
	if err := checkAddress(to); err != nil {
		return fmt.Errorf("%w: the recipient's address: %w", ErrRejected, err)
	}
	content, err := m.Render(n)
	if err != nil {
		return err
	}
	utf8 := func(text string) *types.Content { return &types.Content{Data: &text, Charset: aws.String("UTF-8")} }
	_, err = m.ses.SendEmail(awsconfig.WithAttemptTime(ctx, attemptTime), &sesv2.SendEmailInput{
		FromEmailAddress: aws.String(m.from.String()),
		Destination:      &types.Destination{ToAddresses: []string{to}},
		Content: &types.EmailContent{Simple: &types.Message{
			Subject: utf8(content.Subject),
			Body:    &types.Body{Text: utf8(content.Text), Html: utf8(content.HTML)},
			Headers: headers(content.Unsubscribe),
		}},
	})
	if err != nil && m.rejects(err) {
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return err
}

// rejects reports whether an error of SES is about this very mail. That the sender is not verified is about all mails: they wait until the
// operator has mended it.
func (m *Mailer) rejects(err error) bool {
	if rejected, ok := errors.AsType[*types.MessageRejected](err); ok {
		return !strings.Contains(rejected.ErrorMessage(), m.from.Address)
	}
	_, bad := errors.AsType[*types.BadRequestException](err)
	return bad
}

// headers returns the headers beside those that SES makes.
func headers(unsubscribe string) []types.MessageHeader {
	header := func(name, value string) types.MessageHeader { return types.MessageHeader{Name: &name, Value: &value} }
	list := []types.MessageHeader{
		header("Auto-Submitted", "auto-generated"), // RFC 3834: not to be answered by machines
		header("List-Unsubscribe", "<"+unsubscribe+">"),
	}
	if strings.HasPrefix(unsubscribe, "https:") {
		list = append(list, header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
	}
	return list
}

// unsubscribeURL returns the URL by which the recipient of a notice unsubscribes.
func (m *Mailer) unsubscribeURL(n Notice) string {
	filled := strings.NewReplacer(
		"{organizationId}", url.QueryEscape(n.OrganizationID),
		"{userId}", url.QueryEscape(n.To.UserID),
	).Replace(m.unsubscribe)
	if filled == "" || len(filled) > maxHeader-2 { // long ids may make it too long
		return "mailto:" + m.from.Address + "?subject=unsubscribe"
	}
	return filled
}
