package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"collabdata/scripts/admin/console"
	"collabdata/shared/api/operator"
	sending "collabdata/shared/mail"
	"collabdata/shared/words"
)

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
