// Package localstack installs, starts and stops stand-ins for AWS in development and tests:
// dynoxide for DynamoDB, MiniStack for queues and email, and LocalStack for a whole deployment.
//
// Lock files in the folder pins pin the tools with hashes. Tools are installed into the folder
// .local of the repository. All servers listen only on 127.0.0.1. All except LocalStack end when
// their parent process ends, even if it is killed. README.md lists differences from AWS.
package localstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Credentials that the stand-ins accept for the root user, and the region of this repository's
// tools.
const (
	Region = "us-east-1"
	// an access key of twelve digits selects the account of that id
	Account         = "000000000000"
	AccessKeyID     = "test"
	SecretAccessKey = "test"
)

// Dir returns the folder .local of the repository, for tools, data and logs. Git ignores it. Dir
// returns an error if the working directory is not inside the repository.
func Dir() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "localstack", "pins")) // for any module name
		if err == nil {
			return filepath.Join(dir, ".local"), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the repository: change to the folder of its go.mod", start)
		}
	}
}
