package operator

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/words"
)

// MailPreviewRequest selects an email to preview.
type MailPreviewRequest struct {
	ofAccount
	Kind   mail.Kind `json:"kind" rule:"required" doc:"The kind of email"`
	Locale string    `json:"locale" doc:"The recipient's language, a BCP 47 tag. Default: the account's"`
}

func (r *MailPreviewRequest) Validate(m *rpc.Violations) {
	if r.Locale == "" {
		return
	}
	if err := collab.CheckLocale(r.Locale); err != nil {
		m.Add("locale", "%v", err)
	}
}

// MailPreview is an email with sample comments.
type MailPreview struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

// MailPreviewGet is POST /operator/mail/preview.
func MailPreviewGet() rpc.Endpoint {
	return reading("mail/preview", rpc.Method((*Service).MailPreviewGet), `
Preview an email of an account. It has sample comments, and the look and texts of the account's
settings. Nothing is sent.`)
}

// MailPreviewGet returns an email with sample comments.
func (s *Service) MailPreviewGet(ctx context.Context, call *rpc.Call, req *MailPreviewRequest) (MailPreview, error) {
	a, err := s.Accounts.Account(ctx, req.AccountID)
	if err != nil {
		return MailPreview{}, err
	}
	look := a.Settings.MailLook
	shown, err := mail.Preview(req.Kind, look, words.In(look.Texts, req.Locale, look.Locale), s.Accounts.Now())
	return MailPreview{shown.Subject, shown.Text, shown.HTML}, err
}
