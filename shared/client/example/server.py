"""The page of the README for two users, Ann and Bob. While make run runs: python3 shared/client/example/server.py

It gets the users' tokens with the account's key. COLLABDATA_URL, COLLABDATA_KEY, COLLABDATA_TOKEN and PORT name others."""
import json
import os
import re
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[3]
SERVICE = os.environ.get("COLLABDATA_URL", "http://127.0.0.1:8080")
CREDENTIALS = {
    "x-service-api-key": os.environ.get("COLLABDATA_KEY", "dev-key"),
    "x-service-auth-token": os.environ.get("COLLABDATA_TOKEN", "dev-token"),
}
PORT = int(os.environ.get("PORT", "3000"))
USERS = {"ann": "Ann", "bob": "Bob"}
PAGE = re.search("^```html\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)[1]


def page(user):
    """Return the README's page for a user, after links to each user's page."""
    links = "".join(f'<a href="/?as={u}"{" aria-current=page" * (u == user)}>{name}</a> ' for u, name in USERS.items())
    own = PAGE.replace("https://collab.example.com", SERVICE).replace("/collab-token", f"/collab-token?as={user}")
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Two users</title><nav aria-label="People">{links}</nav>\n{own}'


def token(user):
    """Return the service's answer: a token for the document of the page."""
    data = {
        "userId": user, "userProperties": {"name": USERS[user]}, "createOrganization": True, "createDocument": True,
        "permissions": {"resources": [{"type": "document", "id": "plan", "organizationId": "acme"}]},
    }
    headers = CREDENTIALS | {"Content-Type": "application/json"}
    with urlopen(Request(SERVICE + "/v2/auth/generate_token", json.dumps({"data": data}).encode(), headers)) as answer:
        return json.dumps(json.load(answer)["result"]["data"])


class Product(SimpleHTTPRequestHandler):
    def user(self):
        """Return the user that the address names. A product asks its session instead."""
        asked = parse_qs(urlsplit(self.path).query).get("as", ["ann"])[0]
        return asked if asked in USERS else "ann"

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        if urlsplit(self.path).path == "/":
            return self.answer("text/html; charset=utf-8", page(self.user()))
        self.path = self.path.removeprefix("/assets")
        super().do_GET()

    def do_POST(self):  # /collab-token
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            self.answer("application/json", token(self.user()))
        except URLError as e:
            self.send_error(502, f"no token from {SERVICE}: {e}")


print(f"http://127.0.0.1:{PORT}/?as=ann for Ann, http://127.0.0.1:{PORT}/?as=bob for Bob", flush=True)
elements = ROOT / "scripts" / "local" / "pages"  # the built elements
ThreadingHTTPServer(("127.0.0.1", PORT), lambda *args: Product(*args, directory=elements)).serve_forever()
