package collab

import "testing"

func TestMailAddress(t *testing.T) {
	const address, ascii, domain = "must be an address that email can reach, such as bob@example.com",
		"must be an email address with only ASCII characters before the @", "must be an email address with a valid domain"
	for _, test := range []struct{ sent, want, rule string }{
		{"bob@example.com", "bob@example.com", ""},
		{" Bob.B+x@Example.com\t\n", "Bob.B+x@Example.com", ""},
		{"bob@bücher.example", "bob@xn--bcher-kva.example", ""},
		{"bob@BÜCHER.example", "bob@xn--bcher-kva.example", ""},
		{"bob@例え。jp", "bob@xn--r8jz45g.jp", ""},
		{"bob@localhost", "bob@localhost", ""},
		{"Bob <bob@example.com>", "", address},
		{"bob", "", address},
		{"", "", address},
		{"@example.com", "", address},
		{"bob@", "", address},
		{"bob@a..b", "", address},
		{"a@b.example, c@d.example", "", address},
		{"bob@example.com\r\nBcc: c@d.example", "", address},
		{"bób@example.com", "", ascii},
		{"bob@-bücher.example", "", domain},
		{"bob@bü cher.example", "", domain},
	} {
		got, err := MailAddress(test.sent)
		rule := ""
		if err != nil {
			rule = err.Error()
		}
		if got != test.want || rule != test.rule {
			t.Errorf("%q: %q, %q; want %q, %q", test.sent, got, rule, test.want, test.rule)
		}
	}
}
