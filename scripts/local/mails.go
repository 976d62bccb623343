package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"collabdata/localstack"
	"collabdata/scripts/admin/console"
	"collabdata/shared/api/operator"
	sending "collabdata/shared/mail"
	"collabdata/shared/words"
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

// maxMails is the number of emails in the list.
const maxMails = 200

func (p *pages) mailList(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("q")
	mails, err := p.mails(r)
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	all := len(mails)
	mails = slices.DeleteFunc(mails, func(m mail) bool { return !m.has(query) })
	found := len(mails)
	p.render(w, http.StatusOK, "mails.html", struct {
		view
		Mails                        []mail
		All, Found                   int
		Query, Problem, Window, Curl string
	}{p.view("Mail", "/mail", true), mails[:min(found, maxMails)], all, found, query, problem, fmt.Sprintf("%.0f seconds", mailDelay.Seconds()), tagCurl(p.url)})
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

func (p *pages) mailPage(w http.ResponseWriter, r *http.Request) {
	if m, ok := p.mail(w, r); ok {
		p.render(w, http.StatusOK, "mail.html", struct {
			view
			Mail   mail
			Source string
		}{p.view(m.Subject, "/mail/", false), m, m.html})
	}
}

// mailHTML serves the email like an email program: without scripts and remote content.
func (p *pages) mailHTML(w http.ResponseWriter, r *http.Request) {
	if m, ok := p.mail(w, r); ok {
		// links cannot open in its frame
		html := strings.Replace(m.html, "<head>", `<head><base target="_blank">`, 1)
		console.Serve(w, http.StatusOK, "text/html; charset=utf-8", mailPolicy, []byte(html))
	}
}

// mailPreviews shows each kind of email in each language, with the settings of the account dev.
func (p *pages) mailPreviews(w http.ResponseWriter, r *http.Request) {
	type preview struct{ Path, Name, Subject, Text string }
	var list []preview
	lang := cmp.Or(r.FormValue("lang"), words.Default)
	for _, kind := range sending.Kind("").Values() {
		shown, err := p.previewOf(r, kind, lang)
		if err != nil {
			p.problem(w, http.StatusBadRequest, "No preview", err.Error())
			return
		}
		list = append(list, preview{"/mail/preview/" + kind + "/" + url.PathEscape(lang), kind, shown.Subject, shown.Text})
	}
	p.render(w, http.StatusOK, "previews.html", struct {
		view
		Lang      string
		Languages []string
		Previews  []preview
	}{p.view("Email previews", "/mail/preview", false), lang, words.Languages(), list})
}

// mailPreview serves one preview like an email program.
func (p *pages) mailPreview(w http.ResponseWriter, r *http.Request) {
	shown, err := p.previewOf(r, r.PathValue("kind"), r.PathValue("lang"))
	if err != nil {
		p.problem(w, http.StatusNotFound, "No preview", err.Error())
		return
	}
	console.Serve(w, http.StatusOK, "text/html; charset=utf-8", mailPolicy, []byte(shown.HTML))
}

func (p *pages) previewOf(r *http.Request, kind, lang string) (shown operator.MailPreview, err error) {
	request := map[string]string{"accountId": devAccounts[0].id, "kind": kind, "locale": lang}
	res, err := p.operator.Call(r.Context(), "", "/operator/mail/preview", request)
	if err == nil {
		err = json.Unmarshal(res.Data, &shown)
	}
	return shown, err
}

// mail returns the requested email, or responds with an error.
func (p *pages) mail(w http.ResponseWriter, r *http.Request) (mail, bool) {
	mails, err := p.mails(r)
	if err != nil {
		p.problem(w, http.StatusBadGateway, "The emails cannot be read", err.Error())
		return mail{}, false
	}
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 1 || number > len(mails) {
		p.problem(w, http.StatusNotFound, "No such email", "No email has this number.")
		return mail{}, false
	}
	return mails[len(mails)-number], true
}

// mailLink is the target of buttons in emails. Package collab fills in the ids.
const mailLink = "/opened?organization={organizationId}&document={documentId}&annotation={annotationId}"

// opened stands in for the product that an email's button opens.
func (p *pages) opened(w http.ResponseWriter, r *http.Request) {
	type ids struct{ Organization, Document, Annotation string }
	shown := ids{r.FormValue("organization"), r.FormValue("document"), r.FormValue("annotation")}
	if shown.Organization == demoOrganization && shown.Document == demoDocument {
		http.Redirect(w, r, "/demo#collab-thread="+url.PathEscape(shown.Annotation), http.StatusSeeOther)
		return
	}
	p.render(w, http.StatusOK, "opened.html", struct {
		view
		ids
		Curl string
	}{p.view("Opened from an email", "/opened", false), shown, threadCurl(p.url, shown.Organization, shown.Document, shown.Annotation)})
}
