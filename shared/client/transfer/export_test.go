package transfer

import "testing"

// SendLines limits requests of imports to n lines in a test.
func SendLines(t *testing.T, n int) {
	before := maxBatchLines
	maxBatchLines = n
	t.Cleanup(func() { maxBatchLines = before })
}

// Fields returns the possible fields of a kind's lines, with their parents: from.userId,
// attachments.name.
func Fields(k Kind) (names []string) {
	var add func(of *shape, prefix string)
	add = func(of *shape, prefix string) {
		for of.items != nil {
			of = of.items
		}
		for name, field := range of.fields {
			names = append(names, prefix+name)
			add(field, prefix+name+".")
		}
		if of.open {
			names = append(names, prefix+"*")
		}
	}
	add(forms[k].shape, "")
	return names
}
