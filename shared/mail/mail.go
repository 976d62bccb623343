// Package mail renders notification mails and sends them through SES v2, of which it is the only importer.
//
// Linking it makes a function start later: only `deliver` is to do so.
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

// ErrRejected says that this mail will never be sent, however often it is tried: its recipient has no address that mail can reach, or SES
// refused it.
var ErrRejected = errors.New("mail rejected")

// ErrThrottled says that SES takes no mail now, as the AWS account has sent as many as it may in a second or in a day. This one was not
// sent.
var ErrThrottled = errors.New("mail throttled")

// maxHeader is the length of the longest header value that SES takes in every region.
const maxHeader = 870

// maxPage is how long the URL of the page to unsubscribe by may be: the token needs the rest of the header.
const maxPage = 300

// Options are the deployment's settings of mail.
type Options struct {
	From             string // sender: address@example.com, or Name <address@example.com>; a verified identity of SES
	ConfigurationSet string // of SES: where bounces and complaints are suppressed and counted; "" for none
	Look             collab.MailLook

	// Unsubscribe is the URL of the page by which recipients end these mails; their tokens are added as `?token=`. It is https, or http on
	// this machine. "" is a mail to From instead.
	Unsubscribe string
}

// Mailer renders and sends mails. Safe for concurrent use.
type Mailer struct {
	ses       *sesv2.Client
	from      *netmail.Address
	options   Options
	templates templates
}

// New returns the mailer of a deployment. The error says which option is wrong.
func New(cfg aws.Config, o Options) (*Mailer, error) {
	from, err := parseFrom(o.From)
	if err != nil {
		return nil, err
	}
	if err := checkUnsubscribe(o.Unsubscribe); err != nil {
		return nil, err
	}
	for name, err := range map[string]error{
		"sender's name": collab.CheckMailName(o.Look.FromName), "product of mail": collab.CheckMailName(o.Look.Product),
		"link of mail": collab.CheckMailLink(o.Look.Link),
	} {
		if err != nil {
			return nil, fmt.Errorf("the %s %w", name, err)
		}
	}
	m := &Mailer{from: from, options: o, templates: newTemplates()}
	m.ses = sesv2.NewFromConfig(cfg, func(o *sesv2.Options) {
		// SES knows no idempotency token: only what it surely did not take is sent again here.
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
		return nil, fmt.Errorf("the sender %q of mail is not an address such as service@example.com", text)
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

// isPrintable reports whether a text is ASCII without control characters.
func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return false
		}
	}
	return true
}

// CreateIdentity makes the address of From an identity that may send, unless it is one. It is for the local cloud, where that needs no
// proof.
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

// Send renders a notice and sends it. The error wraps ErrRejected when trying again is of no use, and ErrThrottled when it is of use only
// later. After any other error the mail may be tried again: it was not sent, or, when the answer of SES was lost, may have been.
func (m *Mailer) Send(ctx context.Context, n Notice) error {
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
	if throttles.IsErrorRetryable(err) == aws.TrueTernary {
		return fmt.Errorf("%w: %w", ErrThrottled, err)
	}
	return err
}

// throttles are the errors of SES that say that it surely did not take the mail, and may take it later.
var throttles = retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}

// rejects reports whether an error of SES is about this very mail. That the sender is not verified is about all mails: they wait until the
// operator has mended it.
func (m *Mailer) rejects(err error) bool {
	if rejected, ok := errors.AsType[*types.MessageRejected](err); ok {
		return !strings.Contains(rejected.ErrorMessage(), m.from.Address)
	}
	_, bad := errors.AsType[*types.BadRequestException](err)
	return bad
}

// tagValue returns an account's id as the value of a message tag, which takes letters, digits, `_` and `-` alone: the hash of any other.
func tagValue(account string) string {
	if account != "" && strings.Trim(account, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return account
	}
	hash := sha256.Sum256([]byte(account))
	return "sha256-" + hex.EncodeToString(hash[:16])
}

// headers returns the headers that SES does not make. SES sets Message-ID itself, so mails on a thread refer to an id of the thread, which
// no mail has: by it programs show them together. A link to unsubscribe that is too long for a header, as long ids may make it, is in the
// text alone.
func (m *Mailer) headers(n Notice, unsubscribe string) []types.MessageHeader {
	header := func(name, value string) types.MessageHeader { return types.MessageHeader{Name: &name, Value: &value} }
	list := []types.MessageHeader{header("Auto-Submitted", "auto-generated")} // RFC 3834: not to be answered by machines
	if t := n.Threads[0]; t.AnnotationID != "" && len(n.Threads) == 1 {
		sum := sha256.Sum256([]byte(strings.Join([]string{n.Account, n.OrganizationID, t.DocumentID, t.AnnotationID}, "\x00")))
		thread := "<" + hex.EncodeToString(sum[:16]) + m.from.Address[strings.LastIndexByte(m.from.Address, '@'):] + ">"
		list = append(list, header("References", thread))
	}
	if value := "<" + unsubscribe + ">"; len(value) <= maxHeader {
		list = append(list, header("List-Unsubscribe", value))
		if strings.HasPrefix(unsubscribe, "http") {
			list = append(list, header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")) // RFC 8058
		}
	}
	return list
}

// unsubscribeURL returns the URL by which the recipient of a notice unsubscribes: without a page it is a mail to the sender.
func (m *Mailer) unsubscribeURL(n Notice) string {
	if m.options.Unsubscribe == "" || n.Unsubscribe == "" {
		return "mailto:" + m.from.Address + "?subject=unsubscribe"
	}
	return m.options.Unsubscribe + "?token=" + url.QueryEscape(n.Unsubscribe)
}
