// Package localstack installs, starts and stops the stand-ins for AWS that
// development and tests run on: dynoxide for DynamoDB, MiniStack for queues and
// mail, and LocalStack for a whole deployment.
//
// The tools are pinned by the lock files in the folder pins, with hashes, and
// installed into the folder .local of the repository. Every server listens on
// 127.0.0.1 only. All except LocalStack end when the process that started them
// ends, however that happens. See README.md for where the stand-ins differ from
// AWS.
package localstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The stand-ins take these for the credentials of the account's root user, and
// the region in which the tools of this repository use them.
const (
	Region          = "us-east-1"
	Account         = "000000000000" // of the access key: one of twelve digits is that of the account so called
	AccessKeyID     = "test"
	SecretAccessKey = "test"
)

// Dir returns the folder .local of the repository: tools, data and logs live
// there, ignored by git. It fails when the working directory is not inside the
// repository.
func Dir() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "localstack", "pins")) // whatever the module is called
		if err == nil {
			return filepath.Join(dir, ".local"), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the repository: change to the folder that holds its go.mod", start)
		}
	}
}
