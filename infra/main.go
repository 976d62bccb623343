// Command infra is the CDK app: the CDK CLI runs it to get the CloudFormation template of the
// service. README.md lists its settings.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	_ "collabdata/infra/quiet"
	"collabdata/shared/api"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	functions := flag.String("functions", "../.local/functions", "folder of the functions from `make build`: <arch>/<program>/bootstrap")
	plain := flag.String("plain", "", "folder for a template without the CDK, with its programs as zip files")
	flag.Parse()
	err := synth(*functions, *plain)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	jsii.Close() // after the error, because it may print a partial line
	if err != nil {
		os.Exit(1)
	}
}

func synth(functions, plain string) error {
	app := awscdk.NewApp(&awscdk.AppProps{Context: features()})
	context, _ := app.Node().GetAllContext(nil).(map[string]any)
	settings, err := ReadSettings(context)
	if err != nil {
		return err
	}
	built := filepath.Join(functions, settings.Arch)
	programs := map[string]Program{}
	for _, name := range programNames {
		folder := filepath.Join(built, name)
		program, err := os.ReadFile(filepath.Join(folder, "bootstrap"))
		if err != nil {
			return fmt.Errorf("the program %s is not built for %s: run `make build ARCH=%s` (%w)", name, settings.Arch, settings.Arch, err)
		}
		programs[name] = Program{folder, hashOf(program)}
	}
	if plain == "" {
		NewStack(app, settings, api.Endpoints(), programs)
		app.Synth(nil)
		return nil
	}
	NewPlainStack(app, settings, api.Endpoints(), programs)
	return writePlain(*app.Synth(nil).Directory(), settings.StackName(), plain)
}

// hashOf returns the start of a program's SHA-256.
func hashOf(program []byte) string {
	sum := sha256.Sum256(program)
	return hex.EncodeToString(sum[:6])
}

// features are the CDK feature flags that change this app's template. They are here and not in
// cdk.json, so that tests use them too.
func features() *map[string]any {
	return &map[string]any{
		"@aws-cdk/aws-apigateway:authorizerChangeDeploymentLogicalId": true,
		"@aws-cdk/aws-iam:minimizePolicies":                           true,
		"@aws-cdk/aws-lambda:useCdkManagedLogGroup":                   true,
		"@aws-cdk/core:enablePartitionLiterals":                       true,
	}
}
