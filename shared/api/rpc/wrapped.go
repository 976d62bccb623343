package rpc

// WrappedLen returns the length of a text as the content of a JSON string, the quotes not counted: what a Lambda answers is sent as
// such a string, and the limits on answers count that form. It is what encoding/json writes without HTML escaping; the text must be
// valid UTF-8.
func WrappedLen[T ~[]byte | ~string](text T) int {
	n := len(text)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			n++
		case c < 0x20:
			switch c {
			case '\b', '\f', '\n', '\r', '\t':
				n++
			default:
				n += 5 // \u00XX
			}
		case c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && text[i+2]|1 == 0xa9:
			n += 3 // U+2028, U+2029
		}
	}
	return n
}
