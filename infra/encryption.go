package main

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"
)

// addKey adds or finds the key that encrypts the table, the queues, the logs and the topic. The
// policy of a key that the stack adds allows the services that use it without a role; the owner of
// another key allows them: see README.md.
func (s *service) addKey() {
	switch s.settings.KMSKey {
	case "":
		return
	case "create":
	default:
		s.key = awskms.Key_FromKeyArn(s.stack, jsii.String("Key"), &s.settings.KMSKey)
		return
	}
	key := awskms.NewKey(s.stack, jsii.String("Key"), &awskms.KeyProps{
		Description: jsii.String("Encrypts " + s.settings.StackName()), EnableKeyRotation: jsii.Bool(true), RemovalPolicy: s.settings.removal(),
	})
	use := func(service string, conditions *map[string]any, actions ...string) {
		key.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(&service, nil)},
			Actions:    jsii.Strings(actions...), Resources: jsii.Strings("*"), Conditions: conditions,
		}), nil)
	}
	group := func(name string) *string {
		return s.stack.FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("logs"), Resource: jsii.String("log-group"), ResourceName: &name, ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
		})
	}
	use("logs."+*s.stack.Region()+".amazonaws.com", &map[string]any{"ArnLike": map[string]any{
		"kms:EncryptionContext:aws:logs:arn": []*string{group(s.logGroupName("*")), group("API-Gateway-Execution-Logs_*")},
	}}, "kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")
	if s.settings.Alarms {
		use("cloudwatch.amazonaws.com", nil, "kms:Decrypt", "kms:GenerateDataKey*")
	}
	s.key = key
	s.output("KeyArn", "The key that encrypts the data", key.KeyArn())
}

// keyRights returns the rights to the key that a role with rights to the table and the queues
// needs: only through these services.
func (s *service) keyRights(rights []awsiam.PolicyStatement) []awsiam.PolicyStatement {
	if s.key == nil {
		return nil
	}
	needed := map[string][]string{} // actions by service
	need := func(service string, actions ...string) {
		for _, action := range actions {
			if !slices.Contains(needed[service], action) {
				needed[service] = append(needed[service], action)
			}
		}
	}
	for _, statement := range rights {
		for _, action := range *statement.Actions() {
			service, verb, _ := strings.Cut(*action, ":")
			switch {
			case service == "sqs" && verb == "SendMessage":
				need(service, "kms:Decrypt", "kms:GenerateDataKey")
			case service == "sqs" && verb == "ReceiveMessage":
				need(service, "kms:Decrypt")
			case service == "dynamodb":
				need(service, "kms:Decrypt", "kms:DescribeKey")
				if slices.Contains(writeItems, *action) {
					need(service, "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo")
				}
			}
		}
	}
	var statements []awsiam.PolicyStatement
	for _, service := range []string{"dynamodb", "sqs"} {
		if needed[service] == nil {
			continue
		}
		statements = append(statements, awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions: jsii.Strings(needed[service]...), Resources: &[]*string{s.key.KeyArn()},
			Conditions: &map[string]any{"StringEquals": map[string]any{"kms:ViaService": service + "." + *s.stack.Region() + ".amazonaws.com"}},
		}))
	}
	return statements
}
