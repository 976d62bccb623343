// Release makes what a release consists of, in a folder, and its tag. It publishes nothing:
//
//	make release VERSION=0.1.0
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"collabdata/shared/api/openapi"
	"collabdata/shared/version"
)

// packages are the folders of what goes to npm.
var packages = []string{"client-ts", "elements"}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("which version? Say make release VERSION=" + version.Release)
	}
	number := args[0]
	if number != version.Release {
		return fmt.Errorf("%s is not the version of this checkout, which is %s: change shared/version, CHANGELOG.md and scripts/*/package.json first",
			number, version.Release)
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	text, err := notes(string(changes), number)
	if err != nil {
		return err
	}
	if changed, err := git("status", "--porcelain"); err != nil || changed != "" {
		return errors.Join(err, fmt.Errorf("there are changes that are not committed:\n%s", changed))
	}
	tag := "v" + number
	if known, err := git("tag", "--list", tag); err != nil || known != "" {
		return errors.Join(err, fmt.Errorf("the tag %s is there already: git tag --delete %[1]s", tag))
	}
	dir := filepath.Join(".local", "release", number)
	if err := write(dir, number, text, out); err != nil {
		return err
	}
	if _, err := git("tag", "--annotate", "--cleanup=verbatim", "--file", filepath.Join(dir, "NOTES.md"), tag); err != nil {
		return err
	}
	fmt.Fprintf(out, `
The release is in %s, and its tag is %s. Nothing is published. To publish it:

  git push origin %[2]s
  gh release create %[2]s --title %[2]s --notes-file %[1]s/NOTES.md %[1]s/*.tgz %[1]s/*.tar.gz %[1]s/*.json %[1]s/SHA256SUMS
  npm publish %[1]s/collabdata-client-%[3]s.tgz && npm publish %[1]s/collabdata-elements-%[3]s.tgz

`, dir, tag, number)
	return nil
}

// notes returns what the changelog says of a version.
func notes(changes, number string) (string, error) {
	_, text, found := strings.Cut(changes, "\n## "+number+" (")
	dated := regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}\)\n`).FindString(text)
	if !found || dated == "" {
		return "", fmt.Errorf("CHANGELOG.md has no section %s with its date, as in ## %[1]s (2026-11-23)", number)
	}
	text, _, _ = strings.Cut(text[len(dated):], "\n## ")
	return strings.TrimSpace(text) + "\n", nil
}

// write makes the files of the release in a folder that holds nothing else.
func write(dir, number, text string, out io.Writer) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	full, err := os.ReadFile("shared/api/openapi.json")
	if err != nil {
		return err
	}
	clients, err := openapi.ForClients(full)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"NOTES.md": []byte(text), "openapi.json": full, "openapi-clients.json": clients} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	into, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	source := "collabdata-" + number
	fmt.Fprintln(out, "The sources ...")
	if _, err := git("archive", "--prefix="+source+"/", "--output="+filepath.Join(into, source+".tar.gz"), "HEAD"); err != nil {
		return err
	}
	for _, name := range packages {
		fmt.Fprintf(out, "The archive of scripts/%s for npm ...\n", name)
		for _, args := range [][]string{
			{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"}, {"pack", "--silent", "--pack-destination", into},
		} {
			if _, err := command(filepath.Join("scripts", name), "npm", args...); err != nil {
				return err
			}
		}
	}
	return sum(dir)
}

// sum writes the checksums of all files of a folder, as sha256sum --check reads them.
func sum(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(list.String()), 0o644)
}

func git(args ...string) (string, error) { return command(".", "git", args...) }

// command runs a command in a folder, and returns what it printed.
func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text), err
}
