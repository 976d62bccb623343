"""A product's server. It serves the folder public, and gets tokens for the pages of signed-in users: python3 token.py"""
import json
import os
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

SERVICE, KEY, TOKEN = (os.environ["COLLABDATA_" + name] for name in ("URL", "KEY", "TOKEN"))
CREDENTIALS = {"x-service-api-key": KEY, "x-service-auth-token": TOKEN, "Content-Type": "application/json"}
SESSIONS = {"session=1": {"id": "ann", "name": "Ann", "company": "acme", "documents": ["plan"]}}  # replace with your product's sessions


class Product(SimpleHTTPRequestHandler):
    def end_headers(self):
        if self.command == "GET":
            self.send_header("Set-Cookie", "session=1; HttpOnly")  # your product asks for a password first
        super().end_headers()

    def do_POST(self):  # /collab-token
        user = SESSIONS.get(self.headers["Cookie"])
        if user is None:
            return self.send_error(401)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"]))).get("documentId")
        covered = [d for d in user["documents"] if asked in (None, d)]  # empty for an inbox: all documents of the user
        if not covered:
            return self.send_error(403)
        resources = [{"type": "document", "id": d, "organizationId": user["company"]} for d in covered]
        data = {"userId": user["id"], "userProperties": {"name": user["name"]}, "permissions": {"resources": resources},
                "createOrganization": True, "createDocument": True}
        request = Request(SERVICE + "/v2/auth/generate_token", json.dumps({"data": data}).encode(), CREDENTIALS)
        with urlopen(request) as answer:
            token = json.load(answer)["result"]["data"]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(token).encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), lambda *args: Product(*args, directory="public")).serve_forever()
