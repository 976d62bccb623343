package collab

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// Cut returns at most limit bytes of s in whole grapheme clusters, which users see as characters.
// If the first cluster is longer than limit, Cut returns whole code points of it.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := clusterStart(s, limit)
	rest := s[end:min(len(s), limit+utf8.UTFMax)]
	for state := -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end+len(cluster) > limit {
			break
		}
		end += len(cluster)
	}
	if end > 0 {
		return s[:end]
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// clusterStart returns the last index up to at that certainly begins a grapheme cluster: between
// two ASCII characters, or 0.
func clusterStart(s string, at int) int {
	for ; at > 0; at-- {
		if s[at-1] < utf8.RuneSelf && s[at] < utf8.RuneSelf && s[at-1:at+1] != "\r\n" {
			break
		}
	}
	return at
}

// CutCharacters is Cut with a limit in code points.
func CutCharacters(s string, limit int) string {
	for i := range s {
		if limit == 0 {
			return Cut(s, i)
		}
		limit--
	}
	return s
}

// Shorten returns s, or its beginning with "…" at the end, in at most limit code points.
func Shorten(s string, limit int) string {
	if CutCharacters(s, limit) == s {
		return s
	}
	return strings.TrimRightFunc(CutCharacters(s, limit-1), unicode.IsSpace) + "…"
}

// Bidirectional formatting characters.
const (
	leftToRightIsolate  = '\u2066'
	firstStrongIsolate  = '\u2068'
	popDirectionIsolate = '\u2069'
)

// Isolate returns a line for use inside another line: if it could change the direction of
// surrounding text, it is enclosed in the isolate U+2068 to U+2069. Isolate removes unmatched ends
// of isolates, and closes open ones.
func Isolate(s string) string {
	if strings.IndexFunc(s, turns) < 0 {
		return s
	}
	open := 0
	inner := strings.Map(func(r rune) rune {
		switch {
		case r >= leftToRightIsolate && r <= firstStrongIsolate:
			open++
		case r == popDirectionIsolate && open == 0:
			return -1
		case r == popDirectionIsolate:
			open--
		}
		return r
	}, s)
	return string(firstStrongIsolate) + inner + strings.Repeat(string(popDirectionIsolate), open+1)
}

// turns reports whether a character is written from right to left, or turns others.
func turns(r rune) bool {
	if r < '\u0590' {
		return false
	}
	p, _ := bidi.LookupRune(r)
	switch p.Class() {
	case bidi.L, bidi.EN, bidi.ES, bidi.ET, bidi.CS, bidi.B, bidi.S, bidi.WS, bidi.ON, bidi.BN, bidi.NSM:
		return false
	}
	return true
}

// HasWord reports whether a text or one of its words begins with a key. Both must be results of
// Fold. A word begins after any character that is no letter, mark or digit, and at each character
// of a name in Chinese, Japanese or Korean. Apostrophes may be omitted: obrien finds O'Brien.
func HasWord(text, key string) bool {
	return hasWord(text, key) || hasWord(strings.ReplaceAll(text, "'", ""), strings.ReplaceAll(key, "'", ""))
}

func hasWord(text, key string) bool {
	first, _ := utf8.DecodeRuneInString(key)
	for from := 0; ; {
		i := strings.Index(text[from:], key)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+i])
		if from+i == 0 || !unicode.In(before, unicode.L, unicode.M, unicode.N) || unicode.In(first, eastAsian...) {
			return true
		}
		from += i + utf8.RuneLen(first)
	}
}

// eastAsian are the scripts whose names have no spaces.
var eastAsian = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul}

// strokes are letters that Unicode does not decompose into a letter and a mark, and forms of the
// apostrophe.
var strokes = strings.NewReplacer(
	"ø", "o", "ł", "l", "đ", "d", "ħ", "h", "ŧ", "t", "ı", "i", "æ", "ae", "œ", "oe", "þ", "th", "ð", "d", "’", "'", "‘", "'", "ʼ", "'",
)

// Fold returns a text for searches: without case, accents and other differences of form. García
// becomes garcia, Straße strasse, Ｔｏｋｙｏ tokyo. Marks that form another letter are kept: が is not か.
func Fold(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(text)
	}
	lower := strings.ToLower(cases.Fold().String(norm.NFKD.String(text)))
	folded := norm.NFKD.String(lower)
	return norm.NFC.String(strokes.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) && unicode.In(r, unicode.Inherited, unicode.Hebrew, unicode.Arabic) && !unicode.Is(voiced, r) {
			return -1
		}
		return r
	}, folded)))
}

// voiced are the marks that form another letter of kana.
var voiced = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x3099, Hi: 0x309a, Stride: 1}}}

// Legible returns a foreign text for display: at most limit bytes of valid UTF-8. It replaces
// invalid bytes, control characters except tabs and line ends, and bidirectional formatting with
// U+FFFD.
func Legible(text []byte, limit int) string {
	return Cut(strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case r != '\t' && r != '\n' && unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError
		}
		return r
	}, string(text)), limit)
}

// cutEncoded returns the longest prefix of s in whole characters that EncodeJSON writes in at most
// limit bytes, without the quotes.
func cutEncoded(s string, limit int) string {
	for i, r := range s {
		switch {
		case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
			limit -= 2
		case r < ' ', r == utf8.RuneError, r == '\u2028', r == '\u2029': // written as \uXXXX
			limit -= 6
		default:
			limit -= utf8.RuneLen(r)
		}
		if limit < 0 {
			return Cut(s, i)
		}
	}
	return s
}

func cutEncodedOpt(s *string, limit int) *string {
	if s == nil {
		return nil
	}
	short := cutEncoded(*s, limit)
	return &short
}

// shortText collects text up to a number of bytes. It cuts after a whole character, and drops
// everything after the bound.
type shortText struct {
	text strings.Builder
	left int
}

// newShortText returns an empty text of at most limit bytes.
func newShortText(limit int) *shortText { return &shortText{left: limit} }

// WriteString adds as much of s as fits.
func (b *shortText) WriteString(s string) {
	part := Cut(s, b.left)
	b.text.WriteString(part)
	b.left -= len(part)
	if len(part) < len(s) {
		b.left = 0
	}
}

func (b *shortText) String() string { return b.text.String() }
