package collab

import (
	"fmt"
	"strings"
	"testing"
)

func TestIsEmoji(t *testing.T) {
	for text, want := range map[string]bool{
		"👍": true, "👍🏽": true, "👨‍👩‍👧‍👦": true, "🇩🇪": true, "1️⃣": true, "1⃣": true, "ℹ️": true, "↔️": true, "🏳️‍🌈": true, "©️": true, "❤": true, "❤️": true, "‼️": true, "🏴󠁧󠁢󠁥󠁮󠁧󠁿": true,
		"": false, "a": false, "1": false, "👍👍": false, "漢": false, ":+1:": false, "<": false, "é": false, "👍 ": false,
		"a\uFE0F": false, "1\uFE0F": false, "\uFE0F": false, "a⃣": false, "漢\uFE0F": false, "+\uFE0F": false,
		"👍" + zeroWidthJoined("❤", 10): true, // 64 bytes
		"👍" + zeroWidthJoined("👍", 9):  false,
	} {
		if got := IsEmoji(text); got != want {
			t.Errorf("IsEmoji(%q) = %v, want %v", text, got, want)
		}
	}
}

// zeroWidthJoined extends an emoji by n others to one cluster.
func zeroWidthJoined(by string, n int) string { return strings.Repeat("\u200d"+by, n) }

func TestReactions(t *testing.T) {
	emoji := func(i int) string { return string(rune(0x1F600 + i)) }
	var full Reactions
	var err error
	for i := range MaxEmojis {
		if full, err = full.Add(emoji(i), "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := full.Add(emoji(MaxEmojis), "ann"); CodeOf(err) != ResourceExhausted {
		t.Errorf("emoji %d: %v, want RESOURCE_EXHAUSTED", MaxEmojis+1, err)
	}
	if again, err := full.Add(emoji(0), "bob"); err != nil || len(again[0].Users) != 2 {
		t.Errorf("another user of an emoji: %v, %v", again, err)
	}
	for i := range MaxReactions - MaxEmojis {
		if full, err = full.Add(emoji(0), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	before := fmt.Sprint(full)
	if _, err := full.Add(emoji(0), "one more"); CodeOf(err) != ResourceExhausted {
		t.Errorf("reaction %d: %v, want RESOURCE_EXHAUSTED", MaxReactions+1, err)
	}
	left := full.Remove(emoji(1), "ann")
	if len(left) != MaxEmojis-1 || left.Has(emoji(1), "ann") || !left.Has(emoji(0), "ann") || left.Has(emoji(2), "bob") {
		t.Errorf("%d emojis after one was removed: %v", len(left), left)
	}
	if after := fmt.Sprint(full); after != before {
		t.Error("Add or Remove changed the reactions that they were called on")
	}
	two := Comment{Reactions: Reactions{{"❤", []string{"ann", "bob"}}}}
	if got := two.Content(); got != len("❤")+len("ann")+len("bob") {
		t.Errorf("the reactions add %d bytes to a response", got)
	}
}
