package localstack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrowserFromNPM has the browser from npm show a page, as on a machine that has none.
func TestBrowserFromNPM(t *testing.T) {
	if nodePlatform() != "linux-x64" {
		return // there is none for others
	}
	local, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	browser := browserTools(local)
	if err := browser.install(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	modules, err := NodeModules(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	const script = `require('playwright-core').chromium.launch({executablePath: process.argv[1], args: ['--no-sandbox']}).then(async (browser) => {
		const page = await browser.newPage();
		await page.setContent('<span>' + 'M'.repeat(42) + '</span><script>document.write(6 * 7)</script>');
		console.log(await page.content(), await page.evaluate(() => document.querySelector('span').offsetWidth > 300 ? 'fonts' : 'no fonts'));
		await browser.close();
	})`
	cmd := exec.CommandContext(t.Context(), "node", "--eval", script, browser.path())
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "</script>42</body></html> fonts") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestReference holds that another package than the pinned one is refused.
func TestReference(t *testing.T) {
	dir := t.TempDir()
	lock, err := pins.ReadFile("pins/reference/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(lock), `"integrity": "sha512-X`, `"integrity": "sha512-Y`, 1)
	if err := os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := fetchReference(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "see which registry npm uses") {
		t.Errorf("got %v", err)
	}
	if script, err := os.ReadFile(filepath.Join(dir, "standalone.js")); err == nil {
		t.Errorf("a script of %d bytes was kept", len(script))
	}
}
