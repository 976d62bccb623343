package collab

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Limits of the reactions to one comment.
const (
	MaxEmojis     = 20  // distinct emojis
	MaxReactions  = 500 // of all users
	maxEmojiBytes = 64
)

// Reaction is an emoji with the users that reacted with it, earliest first.
type Reaction struct {
	Emoji string   `dynamodbav:"e"`
	Users []string `dynamodbav:"u,omitempty"`
}

// Unused reports whether no user reacts with the emoji, as after the deletion of personal data.
func (r Reaction) Unused() bool { return len(r.Users) == 0 }

// Reactions are the reactions to a comment, in the order in which their emojis were first used.
type Reactions []Reaction

// IsEmoji reports whether a text is one emoji.
func IsEmoji(text string) bool {
	return len(text) <= maxEmojiBytes && uniseg.GraphemeClusterCount(text) == 1 && startsAsEmoji(text)
}

const (
	keycap    = "\u20E3" // makes a digit, # or * an emoji
	variation = "\uFE0F" // selects the look of an emoji
)

// startsAsEmoji reports whether a text begins with a symbol, a keycap, or a sign that a variation
// selector makes an emoji.
func startsAsEmoji(text string) bool {
	first, n := utf8.DecodeRuneInString(text)
	switch rest := text[n:]; {
	case strings.ContainsRune("0123456789#*", first):
		return strings.HasPrefix(plainEmoji(rest), keycap)
	case strings.HasPrefix(rest, variation):
		return first == 'ℹ' || first > unicode.MaxASCII && unicode.In(first, unicode.So, unicode.Sm, unicode.Po, unicode.Pd)
	}
	return unicode.Is(unicode.So, first)
}

// sameEmoji ignores the variation selector, which some keyboards omit.
func sameEmoji(a, b string) bool {
	return plainEmoji(a) == plainEmoji(b)
}

func plainEmoji(text string) string { return strings.ReplaceAll(text, variation, "") }

func (r Reactions) find(emoji string) int {
	return slices.IndexFunc(r, func(reaction Reaction) bool { return sameEmoji(reaction.Emoji, emoji) })
}

// Has reports whether a user reacted with an emoji.
func (r Reactions) Has(emoji, user string) bool {
	i := r.find(emoji)
	return i >= 0 && slices.Contains(r[i].Users, user)
}

// By returns the number of emojis with which a user reacted.
func (r Reactions) By(user string) (n int) {
	for _, reaction := range r {
		if slices.Contains(reaction.Users, user) {
			n++
		}
	}
	return n
}

// Of returns the first emoji with which a user reacted, or "".
func (r Reactions) Of(user string) string {
	for _, reaction := range r {
		if slices.Contains(reaction.Users, user) {
			return reaction.Emoji
		}
	}
	return ""
}

// Add returns the reactions with that of a user added. It returns RESOURCE_EXHAUSTED if they exceed
// MaxEmojis or MaxReactions.
func (r Reactions) Add(emoji, user string) (Reactions, error) {
	added := r.Remove(emoji, user)
	i := added.find(emoji)
	if i < 0 {
		i = len(added)
		added = append(added, Reaction{Emoji: emoji})
	}
	added[i].Users = append(added[i].Users, user)
	total := 0
	for _, reaction := range added {
		total += len(reaction.Users)
	}
	switch {
	case len(added) > MaxEmojis:
		return nil, Errorf(ResourceExhausted, "a comment can have at most %d different emojis", MaxEmojis)
	case total > MaxReactions:
		return nil, Errorf(ResourceExhausted, "a comment can have at most %d reactions", MaxReactions)
	}
	return added, nil
}

// Remove returns a deep copy without a user's reaction, and without emojis that nobody uses.
func (r Reactions) Remove(emoji, user string) Reactions {
	var left Reactions
	for _, reaction := range r {
		users := slices.Clone(reaction.Users)
		if sameEmoji(reaction.Emoji, emoji) {
			users = slices.DeleteFunc(users, func(id string) bool { return id == user })
		}
		if r := (Reaction{reaction.Emoji, users}); !r.Unused() {
			left = append(left, r)
		}
	}
	return left
}

// size returns the approximate bytes of the reactions in a response.
func (r Reactions) size() (bytes int) {
	for _, reaction := range r {
		bytes += len(reaction.Emoji)
		for _, id := range reaction.Users {
			bytes += len(id)
		}
	}
	return bytes
}
