package rpc

// WrappedLen returns the length of a text as the content of a JSON string, the quotes not counted: what a Lambda answers is sent as
// such a string, and the limits on answers count that form. It is what encoding/json writes without HTML escaping; the text must be
// valid UTF-8.
func WrappedLen[T ~[]byte | ~string](text T) int {
	n := len(text)
	for i := range len(text) {
		c := text[i]
		n += int(escape[c])
		if c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && text[i+2]|1 == 0xa9 {
			n += 3 // U+2028 and U+2029 as \u202X
		}
	}
	return n
}

// escape is what a character grows by: \" \\ \n and the like by one, other control characters, as \u00XX, by five.
var escape = [256]uint8{
	5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 5, 1, 1, 5, 5,
	5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
	'"': 1, '\\': 1,
}
