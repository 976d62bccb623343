#!/bin/sh
# Installs one set of tools into this folder, which contains the set's lock files:
#
#     install.sh npm | pip MINOR | localstack | generators | reference | browser
#
# On failure, the last line suggests a fix.
set -eu

say() { echo "$1" >&2; exit 1; }

node='install Node.js 20 or newer with npm (https://nodejs.org, or: apt-get install nodejs npm) and run this again'

check_node() {
	version=$(node --version 2>/dev/null) || say "Node.js is missing: $node"
	major=${version#v}
	[ "${major%%.*}" -ge 20 ] || say "Node.js $version is too old: $node"
	command -v npm >/dev/null || say "npm is missing: $node"
}

npm_ci() {
	check_node
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || say 'npm failed: see that it reaches its registry (npm ping) and run this again'
}

pip_install() {
	bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --only-binary :all: "$@" -r ./*.txt ||
		say 'pip failed: see that it reaches its registry (pip download six) and run this again'
}

check_maven() { # NAME, which needs it
	java=$(java -version 2>&1) || java=
	java=${java#*version \"}
	java=${java%%[!0-9]*}
	{ [ "${java:-0}" -ge 17 ] && command -v mvn >/dev/null; } || say "Java 17 or Maven is missing, which $1 needs: install both (https://adoptium.net and https://maven.apache.org, or: apt-get install openjdk-17-jre-headless maven) and run this again"
}

maven_install() { # FOLDER, from FOLDER.xml
	mvn --quiet --batch-mode --strict-checksums -f "$1.xml" dependency:copy-dependencies -DoutputDirectory="$PWD/$1" ||
		say 'Maven failed: see that it reaches Maven Central and run this again'
}

case $1 in
npm) npm_ci ;;
pip)
	mend="install Python 3.$2 or newer with venv (https://www.python.org, or: apt-get install python3-venv) and run this again"
	python3 -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, $2))" || say "Python is missing, too old, or without its venv module: $mend"
	python3 -m venv . || say "$mend"
	pip_install
	;;
localstack) # with DynamoDB Local in the folder dynamodb
	for python in "${PYTHON:-}" python3.13 python3 "$HOME"/.pyenv/versions/3.13.*/bin/python none; do
		"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null && break
	done
	[ "$python" != none ] || say 'Python 3.13 is missing, which LocalStack needs: install it (https://www.python.org, or: pyenv install 3.13), or name it in the variable PYTHON, and run this again'
	check_maven 'DynamoDB Local'
	"$python" -m venv .
	pip_install --no-binary airspeed-ext,crontab,jsonpath-rw # only available as source from PyPI
	maven_install dynamodb
	for library in dynamodb/libsqlite4java-*; do mv "$library" "${library%-*}.${library##*.}"; done # without the version
	;;
generators)
	check_maven 'OpenAPI Generator'
	npm_ci
	maven_install java
	maven_install kotlin
	mv java/openapi-generator-cli-*.jar openapi-generator-cli.jar # apart from the clients' libraries, which it has in other versions
	cat >node_modules/.bin/openapi-generator-cli <<-'END'
		#!/bin/sh
		exec java -Xmx512m -Dlog.level=error -jar "${0%/*}/../../openapi-generator-cli.jar" "$@"
	END
	chmod +x node_modules/.bin/openapi-generator-cli
	;;
reference) # without its bundled dependencies; npm pack verifies no hash
	check_node
	pinned=$(node -p 'const p = require("./package-lock.json").packages["node_modules/@scalar/api-reference"]; p.version + " " + p.integrity')
	archive=$(npm pack --silent "@scalar/api-reference@${pinned% *}") || say 'npm failed: see that it reaches its registry (npm ping) and run this again'
	got=$(node -p 'require("crypto").createHash("sha512").update(require("fs").readFileSync(process.argv[1])).digest("base64")' "$archive")
	[ "sha512-$got" = "${pinned#* }" ] || say "npm's registry gave $archive with the hash $got: see which registry npm uses (npm config get registry)"
	tar -xzf "$archive" --strip-components=3 package/dist/browser/standalone.js
	rm "$archive"
	;;
browser) # unpacks itself, and unpacks missing libraries if it detects AWS Lambda
	npm_ci
	mkdir unpacked
	TMPDIR=$PWD/unpacked AWS_EXECUTION_ENV=AWS_Lambda_nodejs20.x node --eval "import('@sparticuz/chromium').then((c) => c.default.executablePath())"
	rm -rf node_modules
	cat >chromium <<-'END'
		#!/bin/sh
		here=$(dirname "$0")
		export LD_LIBRARY_PATH="$here/unpacked/al2023/lib" FONTCONFIG_FILE="$here/fonts.conf"
		exec "$here/unpacked/chromium" "$@"
	END
	chmod +x chromium
	;;
esac
