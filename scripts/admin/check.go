package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"collabdata/infra/awsaccount"
	"collabdata/infra/stack"
)

type checkCommand struct {
	Stage    string `default:"prod" help:"Stage to deploy."`
	MailFrom string `placeholder:"ADDRESS" help:"Sender of emails, if the stage sends any: checks SES too."`
}

// run prints the settings for the AWS account as arguments of cdk, or as JSON, and their meaning to
// standard error.
func (c *checkCommand) run(ctx context.Context, a *admin) error {
	cfg, err := loadAWS(ctx)
	if err != nil {
		return err
	}
	findings, err := awsaccount.Look(ctx, cfg, stack.Name(c.Stage), map[string]string{"mailFrom": c.MailFrom})
	if err != nil {
		return err
	}
	var args []string
	settings := map[string]string{}
	for _, f := range findings {
		fmt.Fprintln(a.stderr, f.Text)
		if f.Setting != "" {
			args = append(args, "-c", f.Setting+"="+f.Value)
			settings[f.Setting] = f.Value
		}
	}
	if a.json {
		return json.NewEncoder(a.stdout).Encode(settings)
	}
	fmt.Fprintln(a.stderr, "Deploy with these settings:")
	_, err = fmt.Fprintln(a.stdout, strings.Join(args, " "))
	return err
}
