package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"collabdata/shared/api/rpc"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// plainSynthesizer returns a synthesizer for a template that needs no bootstrap of the CDK: the
// programs are in the bucket of a parameter.
func plainSynthesizer() awscdk.IStackSynthesizer {
	return awscdk.NewDefaultStackSynthesizer(&awscdk.DefaultStackSynthesizerProps{
		GenerateBootstrapVersionRule: jsii.Bool(false), FileAssetsBucketName: jsii.String("${AssetsBucket}"),
	})
}

// NewPlainStack adds the service to the scope, with parameters for the settings that need no
// synthesis.
func NewPlainStack(scope constructs.Construct, s Settings, endpoints []rpc.Endpoint, programs map[string]Program) awscdk.Stack {
	s.synthesizer = plainSynthesizer()
	s.AlarmMail = "replaced@example.com" // by a parameter
	stack := NewStack(scope, s, endpoints, programs)
	addParameters(stack, s)
	return stack
}

// addParameters replaces the values of settings that need no synthesis by parameters.
func addParameters(stack awscdk.Stack, s Settings) {
	ref := func(name, does, kind string, value any, allowed ...string) map[string]any {
		props := &awscdk.CfnParameterProps{Description: &does, Type: &kind, Default: value}
		if allowed != nil {
			props.AllowedValues = jsii.Strings(allowed...)
		}
		awscdk.NewCfnParameter(stack, &name, props)
		return map[string]any{"Ref": name}
	}
	condition := func(name string, parameter map[string]any, without string) awscdk.CfnCondition {
		return awscdk.NewCfnCondition(stack, &name, &awscdk.CfnConditionProps{
			Expression: awscdk.Fn_ConditionNot(awscdk.Fn_ConditionEquals(awscdk.Token_AsAny(parameter), without)),
		})
	}
	ref("AssetsBucket", "Bucket with the zip files of the release, in the stack's region", "String", nil)
	var days []string
	for _, n := range slices.Sorted(maps.Keys(retentions)) {
		days = append(days, textOf(n))
	}
	retention := ref("LogRetentionDays", "Days that logs are kept", "Number", textOf(s.LogRetentionDays), days...)
	address := ref("WafAddressRateLimit", "Requests per address in five minutes", "Number", s.WAFAddressRateLimit)
	key := ref("WafRateLimit", "Requests per address and API key in five minutes", "Number", s.WAFRateLimit)
	mail := ref("AlarmMail", "Email address for alarms, or empty", "String", "")
	hasMail := condition("HasAlarmMail", mail, "")
	role := ref("GatewayLogRole", "existing if API Gateway has a role for its logs in the region", "String", "create", "create", "existing")
	createsRole := condition("CreatesGatewayLogRole", role, "existing")
	boundary := ref("PermissionsBoundary", "ARN of a policy that limits all roles, or empty", "String", "")
	condition("HasPermissionsBoundary", boundary, "")

	for _, c := range *stack.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		resource, ok := c.(awscdk.CfnResource)
		if !ok {
			continue
		}
		set := func(path string, value any) { resource.AddPropertyOverride(&path, value) }
		switch kind := *resource.CfnResourceType(); {
		case kind == "AWS::Logs::LogGroup":
			set("RetentionInDays", retention)
		case kind == "AWS::WAFv2::WebACL":
			set("Rules.0.Statement.RateBasedStatement.Limit", address)
			set("Rules.1.Statement.RateBasedStatement.Limit", key)
		case kind == "AWS::SNS::Subscription":
			set("Endpoint", mail)
			resource.CfnOptions().SetCondition(hasMail)
		case kind == "AWS::ApiGateway::Account":
			resource.CfnOptions().SetCondition(createsRole)
		case kind == "AWS::IAM::Role":
			set("PermissionsBoundary", map[string]any{"Fn::If": []any{"HasPermissionsBoundary", boundary, map[string]any{"Ref": "AWS::NoValue"}}})
			if strings.HasSuffix(*resource.Node().Path(), "/Api/CloudWatchRole/Resource") {
				resource.CfnOptions().SetCondition(createsRole)
			}
		}
	}
}

// writePlain writes the template of a synthesized stack, and the programs that it names as zip
// files, to a folder. assembly is the folder of the synthesis.
func writePlain(assembly, stack, folder string) error {
	text, err := os.ReadFile(filepath.Join(assembly, stack+".assets.json"))
	if err != nil {
		return err
	}
	var manifest struct {
		Files map[string]struct {
			Source       struct{ Path, Packaging string }
			Destinations map[string]struct{ ObjectKey string }
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "assets"), 0o755); err != nil {
		return err
	}
	for _, file := range manifest.Files {
		if file.Source.Packaging != "zip" {
			continue
		}
		for _, to := range file.Destinations {
			name := filepath.Join(folder, "assets", to.ObjectKey)
			if err := zipFolder(filepath.Join(assembly, file.Source.Path), name); err != nil {
				return err
			}
		}
	}
	text, err = os.ReadFile(filepath.Join(assembly, stack+".template.json"))
	if err != nil {
		return err
	}
	var template map[string]any
	if err := json.Unmarshal(text, &template); err != nil {
		return err
	}
	dependOnExisting(template["Resources"].(map[string]any))
	if text, err = json.Marshal(template); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "template.json"), text, 0o644)
}

// dependOnExisting replaces dependencies of the gateways' stages on resources with a condition by
// references in their descriptions, because CloudFormation refuses a dependency on a resource that
// may not exist.
func dependOnExisting(resources map[string]any) {
	for _, r := range resources {
		r := r.(map[string]any)
		dependencies, _ := r["DependsOn"].([]any)
		r["DependsOn"] = slices.DeleteFunc(dependencies, func(id any) bool {
			condition, conditional := resources[id.(string)].(map[string]any)["Condition"]
			if conditional && condition != r["Condition"] {
				r["Properties"].(map[string]any)["Description"] = map[string]any{"Fn::If": []any{condition, map[string]any{"Ref": id}, "existing role"}}
				return true
			}
			return false
		})
		if len(r["DependsOn"].([]any)) == 0 {
			delete(r, "DependsOn")
		}
	}
}

// zipFolder writes the program in a folder as an executable, always with the same bytes.
func zipFolder(folder, name string) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	in, err := os.Open(filepath.Join(folder, "bootstrap"))
	if err != nil {
		return err
	}
	defer in.Close()
	archive := zip.NewWriter(out)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	w, err := archive.CreateHeader(header)
	if err == nil {
		_, err = io.Copy(w, in)
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = out.Close()
	}
	return err
}
