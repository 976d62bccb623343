package collab

import (
	"regexp"
	"strings"
	"testing"
)

func TestHeadlineFor(t *testing.T) {
	ann := "Ann"
	mail := "bob@example.com"
	recipient := User{UserID: "bob", Email: &mail}
	data := map[string]JSON{
		"text":   JSON(`"a \"b\" <i>"`),
		"number": JSON(`1.50e3`),
		"minus":  JSON(`-0`),
		"yes":    JSON(`true`),
		"named":  JSON(`{"userId":"u1","name":"Una","email":"una@example.com"}`),
		"mailed": JSON(`{"userId":"u2","name":"","email":"duo@example.com"}`),
		"bare":   JSON(`{"userId":"u3"}`),
		"braces": JSON(`"{text} {"`),
		"empty":  JSON(`""`),
		"":       JSON(`"nameless"`),
		"a b":    JSON(`"spaced"`),
	}
	tests := []struct{ name, template, want string }{
		{"no variable", "Hello", "Hello"},
		{"empty", "", ""},
		{"text as it is", "x {text} y", `x a "b" <i> y`},
		{"number as written", "{number}{minus}", "1.50e3-0"},
		{"boolean", "{yes}", "true"},
		{"user by name, e-mail, id", "{named} {mailed} {bare}", "Una duo@example.com u3"},
		{"actor and recipient", "{actionUser} told {recipientUser}", "Ann told bob@example.com"},
		{"unknown name stays", "{nobody} {Text}", "{nobody} {Text}"},
		{"value is not expanded", "{braces}text}", "{text} {text}"},
		{"value beside value", "{text}{text}", `a "b" <i>a "b" <i>`},
		{"empty value", "[{empty}]", "[]"},
		{"empty name", "{}", "nameless"},
		{"name with a space", "{a b}{ text }", "spaced{ text }"},
		{"innermost braces", "{{yes}} {x{yes}", "{true} {xtrue"},
		{"open to the end", "{text", "{text"},
		{"closed only", "text} {yes}", "text} true"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := Notification{Headline: test.template, ActionUser: User{UserID: "ann", Name: &ann}, TemplateData: data}
			if got := n.HeadlineFor(recipient); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHeadlineForPrefersTemplateData(t *testing.T) {
	n := Notification{
		Headline:     "{actionUser} told {recipientUser}",
		ActionUser:   User{UserID: "ann"},
		TemplateData: map[string]JSON{ActionUser: JSON(`{"userId":"x","name":"A. N."}`), RecipientUser: JSON(`"you"`)},
	}
	if got, want := n.HeadlineFor(User{UserID: "bob"}), "A. N. told you"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{a} {b} {{a}} {", "a", "{b}")
	f.Add("}{a}{a", "", "<script>")
	f.Add("{\xff}", "\xff", "{\xff}")
	variable := regexp.MustCompile(`\{[^{}]*\}`)
	f.Fuzz(func(t *testing.T, template, name, text string) {
		value := func(n string) (string, bool) { return text, n == name }
		want := variable.ReplaceAllStringFunc(template, func(v string) string {
			if v == "{"+name+"}" {
				return text
			}
			return v
		})
		if got := renderTemplate(template, value); got != want {
			t.Errorf("%q with %q = %q gave %q, want %q", template, name, text, got, want)
		}
		unknown := renderTemplate(template, func(string) (string, bool) { return "", false })
		if unknown != template {
			t.Errorf("%q without values gave %q", template, unknown)
		}
		if !strings.Contains(template, "{"+name+"}") && want != template {
			t.Errorf("%q changed although it does not name %q", template, name)
		}
	})
}
