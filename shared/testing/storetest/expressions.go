package storetest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// update is a request's update of one item.
type update struct {
	UpdateExpression         string
	ExpressionAttributeNames map[string]string
}

var (
	arguments = regexp.MustCompile(`\([^()]*\)`)
	between   = regexp.MustCompile(`\b(?:SET|REMOVE|ADD|DELETE)\b|,`)
	afterPath = regexp.MustCompile(`[\s=].*`)
)

// pathTwice returns the attribute that an update names twice, or "". DynamoDB refuses such a
// request; the emulator does not.
func pathTwice(body []byte) (string, error) {
	var request struct {
		update
		TransactItems []struct{ Update update }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return "", err
	}
	for _, w := range request.TransactItems {
		if path := w.Update.pathTwice(); path != "" {
			return path, nil
		}
	}
	return request.pathTwice(), nil
}

func (u update) pathTwice() string {
	seen := map[string]bool{}
	for _, action := range between.Split(arguments.ReplaceAllString(u.UpdateExpression, ""), -1) {
		path := afterPath.ReplaceAllString(strings.TrimSpace(action), "")
		if name, ok := u.ExpressionAttributeNames[path]; ok {
			path = name
		}
		if path != "" && seen[path] {
			return path
		}
		seen[path] = true
	}
	return ""
}
