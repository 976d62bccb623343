// Command infra is the CDK app: the CDK CLI runs it to get the CloudFormation template of the whole service. README.md lists its
// settings.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"collabdata/shared/api"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	functions := flag.String("functions", "../.local/functions", "folder that `make build` filled: <arch>/<function>/bootstrap")
	flag.Parse()
	err := synth(*functions)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	jsii.Close() // after the error: it may print a line of its own, without an end
	if err != nil {
		os.Exit(1)
	}
}

func synth(functions string) error {
	app := awscdk.NewApp(&awscdk.AppProps{Context: features()})
	context, _ := app.Node().GetAllContext(nil).(map[string]any)
	settings, err := ReadSettings(context)
	if err != nil {
		return err
	}
	built := filepath.Join(functions, settings.Arch)
	if _, err := os.Stat(built); err != nil {
		return fmt.Errorf("the functions are not built for %s: run `make build ARCH=%s` (%w)", settings.Arch, settings.Arch, err)
	}
	NewStack(app, settings, api.Endpoints(), func(function string) awslambda.Code {
		return awslambda.Code_FromAsset(jsii.String(filepath.Join(built, function)), nil)
	})
	app.Synth(nil)
	return nil
}

// features are the CDK's feature flags that change what this app makes. They are set here and not in cdk.json, so that the tests and
// the CLI see the same.
func features() *map[string]any {
	return &map[string]any{
		"@aws-cdk/aws-apigateway:authorizerChangeDeploymentLogicalId": true,
		"@aws-cdk/aws-iam:minimizePolicies":                           true,
		"@aws-cdk/aws-lambda:useCdkManagedLogGroup":                   true,
		"@aws-cdk/core:enablePartitionLiterals":                       true,
	}
}
