package platform

import (
	"encoding/json"
	"os"
	"regexp"
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit := setting("vcs.revision", "5dbdd280c1f47ac9b1d54fc3a7a2a2d8e0a1b2c3")
	for want, settings := range map[string][]debug.BuildSetting{
		Release:                            {setting("GOOS", "linux")},
		Release + "+5dbdd280c1f4":          {commit, setting("vcs.modified", "false")},
		Release + "+5dbdd280c1f4.modified": {commit, setting("vcs.modified", "true")},
	} {
		if got := versionOf(&debug.BuildInfo{Settings: settings}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := versionOf(nil); got != Release {
		t.Errorf("without build information: %s", got)
	}
}

// Four places contain the release.
func TestRelease(t *testing.T) {
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## ([0-9]+\.[0-9]+\.[0-9]+)\b`).FindSubmatch(changes)
	if newest == nil || string(newest[1]) != Release {
		t.Errorf("the newest release in CHANGELOG.md is %q, here it is %s", newest, Release)
	}
	for _, name := range []string{"ts", "elements"} {
		text, err := os.ReadFile("../client/" + name + "/package.json")
		if err != nil {
			t.Fatal(err)
		}
		var made struct{ Version string }
		if err := json.Unmarshal(text, &made); err != nil || made.Version != Release {
			t.Errorf("%s is %q, %v, here it is %s", name, made.Version, err, Release)
		}
	}
}
