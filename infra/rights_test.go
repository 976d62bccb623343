package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

// rights returns a role's allowed actions, one statement per line, and its trusted service.
func (m made) rights(t *testing.T, roleID string) string {
	t.Helper()
	role, ok := m.resources[roleID]
	if !ok || role.Type != "AWS::IAM::Role" {
		t.Fatalf("role %s is %v", roleID, role)
	}
	lines := []string{"is " + value(t, at(role.Properties, "AssumeRolePolicyDocument.Statement"))}
	if managed := role.Properties["ManagedPolicyArns"]; managed != nil {
		lines = append(lines, "has "+value(t, managed))
	}
	policies, _ := role.Properties["Policies"].([]any)
	for _, p := range policies {
		for _, s := range list(at(p, "PolicyDocument.Statement")) {
			var actions, targets []string
			for _, a := range list(at(s, "Action")) {
				actions = append(actions, a.(string))
			}
			for _, target := range list(at(s, "Resource")) {
				targets = append(targets, describe(t, target))
			}
			line := strings.Join(actions, " ") + " on " + strings.Join(targets, " ")
			if c := at(s, "Condition"); c != nil {
				line += " if " + value(t, c)
			}
			if effect := at(s, "Effect"); effect != "Allow" {
				t.Errorf("%s: %v: %s", roleID, effect, line)
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n  ")
}

// list returns the value as a list. CloudFormation writes a list of one as its element.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// describe returns a policy's resource by its logical id without CDK's hash, such as Table or
// Table/index/index-in.
func describe(t *testing.T, target any) string {
	t.Helper()
	text, err := json.Marshal(target)
	must.Do(t, err)
	names := regexp.MustCompile(`"Fn::GetAtt":\["(\w+?)[0-9A-F]{8}","Arn"\]`).FindStringSubmatch(string(text))
	if names == nil {
		return string(text)
	}
	if suffix := regexp.MustCompile(`"(/index/[\w-]+)"`).FindStringSubmatch(string(text)); suffix != nil {
		return names[1] + suffix[1]
	}
	return names[1]
}

// TestRights checks the rights of each function. The file groups functions with the same rights.
func TestRights(t *testing.T) {
	m := production(t)
	functions, roles := map[string][]string{}, map[string]bool{}
	for id, f := range m.ofType("AWS::Lambda::Function") {
		role := value(t, f.Properties["Role"])
		if roles[role] {
			t.Errorf("two functions share the role %s", role)
		}
		roles[role] = true
		rights := strings.ReplaceAll(m.rights(t, role), " on "+id[:len(id)-len("Function12345678")]+"Logs", " on its log")
		functions[rights] = append(functions[rights], f.Properties["Description"].(string))
	}
	for id := range m.ofType("AWS::IAM::Role") {
		if !roles[id] {
			functions[m.rights(t, id)] = append(functions[m.rights(t, id)], "role "+id)
		}
	}
	var groups []string
	for rights, names := range maps.All(functions) {
		slices.Sort(names)
		groups = append(groups, strings.Join(names, "\n")+"\n  "+rights+"\n")
	}
	slices.Sort(groups)
	got := strings.Join(groups, "\n")
	golden.Check(t, "testdata/rights.txt", got)
	for what, never := range map[string]string{
		"write what the operator sets": `(BatchWrite|Put|Update|Delete)Item\b.* if .*"(KEY|ACCOUNT|PROVIDER)#`,
		"do all of a kind":             `\w+:\w*\*`,
		"write a log of another":       `logs:\S+ on [^i]`,
	} {
		for _, line := range strings.Split(got, "\n") {
			if regexp.MustCompile(never).MatchString(line) {
				t.Errorf("a role may %s: %s", what, line)
			}
		}
	}
}

// TestQueueVariables checks that exactly the functions with the right to send to the queue of calls
// have its URL.
func TestQueueVariables(t *testing.T) {
	m, senders := production(t), 0
	for id, f := range m.ofType("AWS::Lambda::Function") {
		sends := regexp.MustCompile(`sqs:SendMessage on [^\n]*Calls`).MatchString(m.rights(t, value(t, f.Properties["Role"])))
		if named := at(f.Properties, "Environment.Variables.CALLS_QUEUE_URL") != nil; named != sends {
			t.Errorf("%s has the URL: %v, and may send: %v", id, named, sends)
		}
		if sends {
			senders++
		}
	}
	if senders != 2 {
		t.Errorf("%d functions send calls", senders)
	}
}
