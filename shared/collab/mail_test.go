package collab

import (
	"reflect"
	"strings"
	"testing"
)

func TestMailLink(t *testing.T) {
	l := MailLook{Link: "https://app.example/{organizationId}/d/{documentId}?thread={annotationId}&c={commentId}"}
	if err := CheckMailLink(l.Link); err != nil {
		t.Error(err)
	}
	if got, want := l.LinkTo("a b/../c", "d&e=f#g", "{commentId}+\r\n", 7), "https://app.example/a%20b%2F..%2Fc/d/d%26e%3Df%23g?thread=%7BcommentId%7D%2B%0D%0A&c=7"; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := l.LinkTo("o", "d", "", 0), "https://app.example/o/d/d?thread=&c="; !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (MailLook{}).LinkTo("o", "d", "a", 1); got != "" {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{
		"app.example", "javascript:alert(1)", "https://", "https://{organizationId}.example/", "https://a.example/{userId}", "https://a.example/{",
		"https://a.example/ b", "https://a.example/\n", "https://a.example/" + strings.Repeat("x", 500),
	} {
		if CheckMailLink(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestMailName(t *testing.T) {
	for name, ok := range map[string]bool{"": true, "Größe & Co": true, "a\nb": false, " a": false, strings.Repeat("x", 101): false} {
		if err := CheckMailName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLocale(t *testing.T) {
	for locale, ok := range map[string]bool{"de": true, "pt-BR": true, "zh-Hant-TW": true, "": false, "de_": false, "Deutsch!": false, strings.Repeat("a", 36): false} {
		if err := CheckLocale(locale); (err == nil) != ok {
			t.Errorf("%q: %v", locale, err)
		}
	}
}

func TestMailLookOr(t *testing.T) {
	deployment := MailLook{FromName: "D", Product: "P", Link: "L"}
	if got, want := (MailLook{Product: "A"}).Or(deployment), (MailLook{FromName: "D", Product: "A", Link: "L"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
