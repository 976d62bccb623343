package platform

import "runtime/debug"

// Release is the newest numbered release in CHANGELOG.md.
const Release = "0.1.0"

// Version returns the version of this program: the release, and + and the commit if it was built in
// a Git checkout, such as 0.1.0+5dbdd280c1f4. Uncommitted changes add .modified. It contains only
// letters, digits, . and +.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	text := Release
	if info == nil {
		return text
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			text += "+" + s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		text += ".modified"
	}
	return text
}
