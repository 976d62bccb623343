package localstack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/shared/testing/must"
)

// TestBrowserFromNPM shows a page with the browser from npm.
func TestBrowserFromNPM(t *testing.T) {
	if nodePlatform() != "linux-x64" {
		return // npm has none for other platforms
	}
	dir, err := browserTools.install(t.Context(), os.Stderr)
	must.Do(t, err)
	modules, err := NodeModules(t.Context(), os.Stderr)
	must.Do(t, err)
	const script = `require('playwright-core').chromium.launch({executablePath: process.argv[1], args: ['--no-sandbox']}).then(async (browser) => {
		const page = await browser.newPage();
		await page.setContent('<span>' + 'M'.repeat(42) + '</span><script>document.write(6 * 7)</script>');
		console.log(await page.content(), await page.evaluate(() => document.querySelector('span').offsetWidth > 300 ? 'fonts' : 'no fonts'));
		await browser.close();
	})`
	cmd := exec.CommandContext(t.Context(), "node", "--eval", script, filepath.Join(dir, browserTools.program))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "</script>42</body></html> fonts") {
		t.Errorf("%v\n%s", err, out)
	}
}
