"""A product's server. It serves the folder public, and gets tokens for the pages of signed-in users: python3 token.py"""
import json
import os
import secrets
from http.cookies import SimpleCookie
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

SERVICE, KEY, TOKEN = (os.environ["COLLABDATA_" + name] for name in ("URL", "KEY", "TOKEN"))
CREDENTIALS = {"x-service-api-key": KEY, "x-service-auth-token": TOKEN, "Content-Type": "application/json"}
ANN = {"id": "ann", "name": "Ann", "email": "ann@example.com", "company": "acme"}
SESSIONS = {}  # users by session: replace with your product's


def documents_of(user):
    """Return the ids of the documents that the user may open in your product: fill this in."""
    return ["plan"]


class Product(SimpleHTTPRequestHandler):
    def session(self):
        return getattr(SimpleCookie(self.headers["Cookie"]).get("session"), "value", None)

    def end_headers(self):
        if self.command == "GET" and self.path == "/":  # your product asks for a password first
            session = secrets.token_urlsafe()
            SESSIONS[session] = ANN
            self.send_header("Set-Cookie", f"session={session}; HttpOnly; SameSite=Lax")
        super().end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path == "/sign-out":
            SESSIONS.pop(self.session(), None)
            return self.answer(200, {})
        if self.path != "/collab-token":
            return self.answer(404, None)
        user = SESSIONS.get(self.session())
        if user is None:
            return self.answer(401, None)
        try:
            document = json.loads(body).get("documentId")  # absent for an inbox
        except (ValueError, AttributeError):
            return self.answer(400, None)
        covered = [d for d in documents_of(user) if document in (None, d)]
        if not covered:
            return self.answer(403, None)
        data = {"userId": user["id"], "userProperties": {"name": user["name"], "email": user["email"]},
                "permissions": {"resources": [{"type": "document", "id": d, "organizationId": user["company"]} for d in covered]},
                "createOrganization": True, "createDocument": True}
        try:
            with urlopen(Request(SERVICE + "/v2/auth/generate_token", json.dumps({"data": data}).encode(), CREDENTIALS)) as got:
                self.answer(200, json.load(got)["result"]["data"])
        except OSError:
            self.answer(502, None)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), lambda *args: Product(*args, directory="public")).serve_forever()
