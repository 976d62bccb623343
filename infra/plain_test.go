package main

import (
	"archive/zip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/api"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// TestPlain checks that the plain template needs nothing of the CDK's bootstrap, and that cfn-lint
// accepts it. Its programs are zip files in the bucket of a parameter. Each parameter sets its
// property.
func TestPlain(t *testing.T) {
	settings, err := ReadSettings(established(nil))
	must.Do(t, err)
	app := awscdk.NewApp(&awscdk.AppProps{Context: features(), Outdir: jsii.String(t.TempDir())})
	programs, folder := map[string]Program{}, t.TempDir()
	for _, name := range programNames {
		program := filepath.Join(folder, name)
		must.Do(t, os.Mkdir(program, 0o755))
		must.Do(t, os.WriteFile(filepath.Join(program, "bootstrap"), []byte(name), 0o755))
		programs[name] = Program{program, name}
	}
	NewPlainStack(app, settings, api.Endpoints(), programs)
	out := t.TempDir()
	must.Do(t, writePlain(*app.Synth(nil).Directory(), settings.StackName(), out))

	name := filepath.Join(out, "template.json")
	text, err := os.ReadFile(name)
	must.Do(t, err)
	for _, never := range []string{"cdk-hnb659fds", "cdk-bootstrap", "BootstrapVersion", "replaced@example.com"} {
		if strings.Contains(string(text), never) {
			t.Errorf("the template has %s", never)
		}
	}
	var template struct {
		Parameters map[string]any
		Resources  map[string]struct {
			Type, Condition string
			Properties      map[string]any
		}
	}
	must.Do(t, json.Unmarshal(text, &template))
	used := map[string]bool{}
	for id, r := range template.Resources {
		switch r.Type {
		case "AWS::Lambda::Function":
			if bucket := value(t, at(r.Properties, "Code.S3Bucket")); !strings.Contains(bucket, "AssetsBucket") {
				t.Errorf("%s is in the bucket %s", id, bucket)
			}
			used[at(r.Properties, "Code.S3Key").(string)] = true
		case "AWS::IAM::Role":
			if boundary := value(t, r.Properties["PermissionsBoundary"]); !strings.Contains(boundary, "HasPermissionsBoundary") {
				t.Errorf("the boundary of %s is %s", id, boundary)
			}
			if conditional := r.Condition == "CreatesGatewayLogRole"; conditional != strings.HasPrefix(id, "ApiCloudWatchRole") {
				t.Errorf("%s has the condition %q", id, r.Condition)
			}
		case "AWS::ApiGateway::Account", "AWS::SNS::Subscription":
			if r.Condition == "" {
				t.Errorf("%s has no condition", id)
			}
		}
	}
	for parameter := range template.Parameters {
		if !strings.Contains(string(text), `"`+parameter+`"},`) && strings.Count(string(text), parameter) < 2 {
			t.Errorf("the parameter %s is unused", parameter)
		}
	}
	var bootstraps []string
	for key := range used {
		archive, err := zip.OpenReader(filepath.Join(out, "assets", key))
		must.Do(t, err)
		defer archive.Close()
		if len(archive.File) != 1 || archive.File[0].Name != "bootstrap" || archive.File[0].Mode()&0o111 == 0 {
			t.Errorf("%s has %v", key, archive.File)
		}
		bootstraps = append(bootstraps, key)
	}
	if len(slices.Compact(bootstraps)) != len(programNames) {
		t.Errorf("the programs are %q", bootstraps)
	}
	lint, err := localstack.CheckTool(t.Context(), "cfn-lint", os.Stderr)
	must.Do(t, err)
	cmd := exec.CommandContext(t.Context(), lint, "--regions", "eu-west-1", "--ignore-checks", "W3005", "--", name)
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
}
