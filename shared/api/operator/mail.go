package operator

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/mail"
	"collabdata/shared/words"
)

// MailPreviewRequest asks for a mail.
type MailPreviewRequest struct {
	ofAccount
	Kind   mail.Kind `json:"kind" rule:"required" doc:"Which mail"`
	Locale string    `json:"locale" doc:"The language of its recipient, as a BCP 47 tag; the account's where it is left out"`
}

// Validate refuses what is no locale.
func (r *MailPreviewRequest) Validate(m *rpc.Violations) {
	if r.Locale == "" {
		return
	}
	if err := words.CheckLocale(r.Locale); err != nil {
		m.Add("locale", "%v", err)
	}
}

// MailPreview is a mail with made-up comments.
type MailPreview struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

// MailPreviewGet is POST /operator/mail/preview.
func MailPreviewGet() rpc.Endpoint {
	return reading("mail/preview", rpc.Method((*Service).MailPreviewGet), `
Shows a mail of an account with made-up comments: its look and texts are those of the account's settings. Nothing is sent.`)
}

// MailPreviewGet returns a mail with made-up comments.
func (s *Service) MailPreviewGet(ctx context.Context, call *rpc.Call, req *MailPreviewRequest) (MailPreview, error) {
	a, err := s.Accounts.Account(ctx, req.AccountID)
	if err != nil {
		return MailPreview{}, err
	}
	look := a.Settings.MailLook
	shown, err := mail.Preview(req.Kind, look, words.In(look.Texts, req.Locale, look.Locale), s.Accounts.Now())
	return MailPreview{shown.Subject, shown.Text, shown.HTML}, err
}
