#!/usr/bin/env python3
"""Convert comments of other services to a file for `admin import`, with Python 3.11 or later.

    python3 convert.py disqus export.xml --organization acme > acme.jsonl

A later export gives the same ids, so that a second import adds what is new. MOVING.md says what is carried.
"""
import argparse, collections, datetime, gzip, hashlib, json, re, sys, xml.etree.ElementTree, xml.parsers.expat, zlib
from html import escape
from html.parser import HTMLParser


class Contents:
    """The contents of the files. Comments are dicts: id, document, author, at, html, and others with a default, see lines."""
    def __init__(self, prefix: str, accounts: dict):
        self.prefix, self.accounts = prefix, accounts  # accounts are user objects of the product, by converted userId
        self.documents, self.threads, self.groups, self.users, self.comments = {}, {}, {}, {}, []
    def user(self, key: str, name: str = "", email: str = "", picture: str = "") -> dict:
        """Return the user object of an author. One without an account has no key, and gets no user line."""
        key = ident(self.prefix + key) if (account := bool(key)) else "guest-" + hashed(self.prefix, name.casefold(), email.casefold())
        user = {k: v for k, v in (("userId", key), ("name", name or ("" if account else "Anonymous")), ("photoUrl", picture)) if v}
        user |= self.accounts.get(key, {} if account else {"isAnonymous": True})
        if account or key in self.accounts:
            self.users.setdefault(user["userId"], {"email": email, **user} if email else user)
        return {k: v for k, v in user.items() if k != "email"}


def hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:24]


def ident(text: str, limit: int = 250) -> str:
    """Return a text as an id: itself if it is a valid one, else a hash."""
    if not text:
        raise ValueError("an id, or the address of a page, is empty")
    valid = text.isprintable() and len(re.sub(r'[%# !"]', "%20", text).encode()) <= limit
    return text if valid else "hash-" + hashed(text)


def millis(text: str, what: str) -> int:
    try:
        at = datetime.datetime.fromisoformat(text.strip())
        return round((at if at.tzinfo else at.replace(tzinfo=datetime.UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise ValueError(f"{what} has no valid time, but {text.strip()[:40]!r}") from None


class Plain(HTMLParser):
    """The text form of HTML."""
    breaks = dict.fromkeys(("p", "blockquote", "pre", "ul", "ol", "table", "h1", "h2", "h3"), "\n\n") | {"div": "\n", "tr": "\n"}
    def __init__(self, html: str):
        super().__init__()
        self.parts, self.script = [], ""
        self.feed(html.replace("<![", "<!"))  # an unknown section would be an error
        self.close()
        self.text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]*\n[ \t]*", "\n", "".join(self.parts))).strip()
    def handle_starttag(self, tag, attrs):
        self.script = tag if tag in ("script", "style") else self.script
        self.parts.append((dict(attrs).get("alt") or "[picture]") if tag == "img" else {"br": "\n", "li": "\n- "}.get(tag, self.breaks.get(tag, "")))
    def handle_endtag(self, tag):
        self.script = "" if tag == self.script else self.script
        self.parts.append(self.breaks.get(tag, ""))
    def handle_data(self, data):
        self.parts.append("" if self.script else re.sub(r"\s+", " ", data))


def tree(data: bytes, root: str):
    """Parse XML. Names lose their namespaces, texts of pages are skipped, and a DOCTYPE, which could define entities, is refused."""
    builder, parser, names = xml.etree.ElementTree.TreeBuilder(), xml.parsers.expat.ParserCreate(namespace_separator=" "), []
    def refuse(*_):
        raise ValueError("the file has a DOCTYPE, which no export has")
    def start(name, attrs):
        names.append(name.split(" ")[-1])
        if names[0] != root:
            raise ValueError(f"the file begins with <{names[0]}>, not <{root}>: it has another format")
        builder.start(names[-1], {k.split(" ")[-1]: v for k, v in attrs.items()})
    parser.StartDoctypeDeclHandler, parser.StartElementHandler, parser.buffer_text = refuse, start, True
    parser.EndElementHandler = lambda _: builder.end(names.pop())
    parser.CharacterDataHandler = lambda text: names[-1] in ("encoded", "meta_value") or builder.data(text)
    parser.Parse(data, True)
    return builder.close()


def leaf(element, name: str) -> str:
    return (element.findtext(name) or "").strip() if element is not None else ""


def disqus(m: Contents, data: bytes) -> None:
    pages, file = {}, tree(data, "disqus")
    for t in file.iterfind("thread"):
        page = ident(leaf(t, "link") or leaf(t, "id") or m.prefix + t.get("id", ""), 600)
        pages[t.get("id")] = page, "in a deleted thread" if leaf(t, "isDeleted") == "true" else ""
        m.documents.setdefault(page, {"documentName": leaf(t, "title") or page})
    for p in file.iterfind("post"):
        key, author, (page, parent) = p.get("id") or leaf(p, "id"), p.find("author"), [getattr(p.find(n), "attrib", {}) for n in ("thread", "parent")]
        if page.get("id") not in pages:
            raise ValueError(f"the post {key} is in no thread of the file")
        document, reason = pages[page["id"]]
        for name, flag, why in (("isApproved", "false", "unapproved"), ("isSpam", "true", "spam"), ("isDeleted", "true", "deleted")):
            reason = why if leaf(p, name) == flag else reason
        account = leaf(author, "username") if leaf(author, "isAnonymous") != "true" and not reason else ""
        user = m.user(account, leaf(author, "name"), "" if account else leaf(author, "email"))  # an account of Disqus gets no emails
        m.comments.append({"id": key, "document": document, "author": user, "reason": reason, "html": leaf(p, "message"),
                           "at": 0 if reason else millis(leaf(p, "createdAt"), f"the post {key}"), "parent": parent.get("id")})


def wordpress(m: Contents, data: bytes) -> None:
    file = tree(data, "rss")
    names = {leaf(a, "author_id"): leaf(a, "author_display_name") for a in file.iterfind("channel/author")}
    for item in file.iterfind("channel/item"):
        document = ident(leaf(item, "link") or m.prefix + leaf(item, "post_id"), 600)
        closed = leaf(item, "status") in ("private", "draft", "pending", "future", "trash") or leaf(item, "post_password")
        m.documents.setdefault(document, {"documentName": leaf(item, "title") or document} | ({"accessType": "restricted"} if closed else {}))
        for c in item.iterfind("comment"):
            key, account, kind, approved = (leaf(c, "comment_" + name) for name in ("id", "user_id", "type", "approved"))
            at = next((at for name in ("_gmt", "") if (at := leaf(c, "comment_date" + name)).strip("0-: ")), "")
            html = leaf(c, "comment_content")
            if html and not re.search(r"<(p|pre|div|ul|ol|table|blockquote)\b", html):  # as WordPress shows it
                html = "<p>" + re.sub(r"\s*\n\s*\n\s*", "</p><p>", html).replace("\n", "<br>") + "</p>"
            reason = kind if kind not in ("", "comment") else {"1": "", "0": "unapproved"}.get(approved, approved or "unapproved")
            user = m.user("" if reason else account.lstrip("0"), names.get(account) or leaf(c, "comment_author"), leaf(c, "comment_author_email"))
            m.comments.append({"id": key, "document": document, "author": user, "reason": reason, "html": html,
                               "at": 0 if reason else millis(at, f"the comment {key}"), "parent": leaf(c, "comment_parent")})


def get(o: dict, name: str, kind: type = str):
    """Return a member of an object, by default an empty one. A list has objects."""
    value = kind() if o.get(name) is None else o[name]
    if not isinstance(value, kind) or kind is list and not all(isinstance(item, dict) for item in value):
        raise ValueError(f"{name} must be a value such as {json.dumps([{}] if kind is list else kind())}, not {json.dumps(value)[:60]}")
    return value


def remark42(m: Contents, data: bytes) -> None:
    head, *rest = json.loads("[" + ",\n".join(line for line in data.decode("utf-8-sig").split("\n") if line.strip()) + "]")
    if not isinstance(head, dict) or "version" not in head:
        raise ValueError("line 1 must be the head of a backup, with its version")
    for o in get({"the file": rest}, "the file", list):
        what = f"the comment {get(o, 'id')}"
        user, url, edit = get(o, "user", dict), get(get(o, "locator", dict), "url"), get(get(o, "edit", dict), "time")
        document, account = ident(url, 600), "" if get(user, "id").startswith("anonymous_") or get(o, "delete", bool) else get(user, "id")
        m.documents.setdefault(document, {"documentName": get(o, "title") or url or document})
        m.comments.append({"id": get(o, "id"), "document": document, "author": m.user(account, get(user, "name"), picture=get(user, "picture")),
                           "at": millis(get(o, "time"), what), "html": get(o, "text"), "edited": millis(edit, what) if edit else 0,
                           "parent": get(o, "pid"), "reason": "deleted" * get(o, "delete", bool)})


def inline(m: Contents, part: dict, tags: dict) -> tuple[str, str]:
    """Return a part of a paragraph as text and as HTML, and add its mention to tags."""
    if get(part, "type") == "mention":
        key, group = ident(get(part, "id")), get(part, "kind") == "group"
        if group:
            m.groups.setdefault(key, {"groupName": key, "userIds": [ident(str(user)) for user in part.get("userIds") or []]})
        tag = tags[key] = {"organizationUserGroupId": key} if group else {"userId": (user := m.user(key))["userId"], "contact": user}
        return ("{{" + tag.get("userId", key) + "}}",) * 2
    text = get(part, "text") or get(part, "url")
    html = f'<a href="{escape(get(part, "url"))}">{escape(text)}</a>' if get(part, "type") == "link" else escape(text)
    for name, tag in (("code", "code"), ("bold", "strong"), ("italic", "em"), ("strikethrough", "s")):
        html = f"<{tag}>{html}</{tag}>" if get(part, name, bool) else html
    return text, html


def liveblocks(m: Contents, data: bytes) -> None:
    file = json.loads(data.decode("utf-8-sig"))
    file = file["data"] if isinstance(file, dict) and "data" in file else file
    for t in get({"data": file if isinstance(file, list) else [file]}, "data", list):
        thread, room, comments = get(t, "id"), get(t, "roomId"), get(t, "comments", list)
        if get(t, "type") != "thread" or not thread or not room:
            raise ValueError("the file must be a list of threads: each has the type thread, an id and a roomId")
        m.threads[thread] = {"context": get(t, "metadata", dict) | {"importedId": thread}, "contextShared": True}
        m.threads[thread] |= {"status": {"id": "RESOLVED", "name": "Resolved", "type": "terminal"}} if get(t, "resolved", bool) else {}
        authors = sorted({m.user(get(c, "userId"))["userId"] for c in comments})
        m.threads[thread] |= {"visibility": {"type": "restricted", "userIds": authors}} if get(t, "visibility") == "private" else {}
        m.documents.setdefault(ident(room, 600), {"documentName": room})
        for c in comments:
            what, tags, edit, body = f"the comment {get(c, 'id')}", {}, get(c, "editedAt"), get(get(c, "body", dict), "content", list)
            blocks = [[inline(m, part, tags) for part in get(block, "children", list)] for block in body]
            reactions = [{"emoji": get(r, "emoji"), "users": [{"userId": m.user(get(u, "id"))["userId"]} for u in get(r, "users", list)]}
                         for r in get(c, "reactions", list)]
            attachments = [{"attachmentId": n, "name": get(a, "name"), "size": get(a, "size", int), "mimeType": get(a, "mimeType"),
                            "metadata": {"importedId": get(a, "id")}} for n, a in enumerate(get(c, "attachments", list), 1)]
            m.comments.append({
                "id": get(c, "id"), "document": ident(room, 600), "author": m.user(get(c, "userId")), "at": millis(get(c, "createdAt"), what),
                "edited": millis(edit, what) if edit else 0, "thread": thread, "reason": "deleted" if get(c, "deletedAt") else "",
                "text": "\n".join("".join(word for word, _ in block) for block in blocks),
                "html": "".join("<p>" + "".join(part for _, part in block) + "</p>" for block in blocks),
                "more": {"taggedUserContacts": list(tags.values()), "reactions": reactions, "attachments": attachments}})


def lines(m: Contents, organization: str):
    """Yield the lines: the organization, groups, documents, threads with their comments, users."""
    comments, threads = {}, {}
    for c in m.comments:
        if not c["id"] or comments.setdefault(c["id"], c) is not c:
            raise ValueError(f"the comment {c['id']} is there twice" if c["id"] else "a comment has no id")
    for c in m.comments:
        c["text"], c["more"] = c.get("text") or Plain(c["html"]).text, {k: v for k, v in c.get("more", {}).items() if v}
        c["reason"] = c["reason"] or ("" if c["html"] or c["more"] else "empty")
        top, path = c, set()
        while top.get("parent") in comments:
            path.add(top["id"])
            if (top := comments[top["parent"]])["id"] in path:
                raise ValueError(f"the comment {top['id']} answers itself, by way of its answers")
        if not c["reason"]:
            threads.setdefault((c["document"], ident(c.get("thread") or m.prefix + top["id"])), []).append(c)
    yield {"kind": "organization", "organizationId": organization}
    yield from ({"kind": "group", "groupId": key, **group} for key, group in m.groups.items())
    yield from ({"kind": "document", "documentId": key, **m.documents[key]} for key in dict.fromkeys(document for document, _ in threads))
    for (document, thread), answers in threads.items():
        numbers = {c["id"]: int(c["id"]) if c["id"].isdecimal() and len(c["id"]) < 20 else int(hashed(c["id"]), 16) for c in answers}
        answers.sort(key=lambda c: (c["at"], numbers[c["id"]]))
        yield {"kind": "annotation", "documentId": document, "annotationId": thread, "from": answers[0]["author"], "createdAt": answers[0]["at"],
               "lastUpdated": max(max(c["at"], c.get("edited", 0)) for c in answers), **m.threads.get(answers[0].get("thread"), {})}
        number = 0
        for c in answers:
            number = max(number + 1, c["at"] * 1000 + numbers[c["id"]] % 1000)  # the order of comments
            text, html, parent = c["text"], c["html"], comments.get(c.get("parent"), answers[0])
            if parent is not answers[0] and not parent["reason"]:
                words, name = " ".join(parent["text"].split()), parent["author"].get("name") or parent["author"]["userId"]
                quote = f"{name}: {words[:200]}{'…' if len(words) > 200 else ''}"
                text, html = f"> {quote}\n\n{text}", f"<blockquote>{escape(quote)}</blockquote>{html}"
            yield {"kind": "comment", "documentId": document, "annotationId": thread, "commentId": number, "from": c["author"],
                   **{k: v for k, v in (("commentText", text), ("commentHtml", html)) if v}, "context": {"importedId": c["id"]},
                   "createdAt": c["at"], "lastUpdated": max(c["at"], c.get("edited", 0)), **c["more"]}
    yield from ({"kind": "user", **user} for user in m.users.values())


if __name__ == "__main__":
    formats = {"disqus": disqus, "wordpress": wordpress, "remark42": remark42, "liveblocks": liveblocks}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", choices=formats)
    parser.add_argument("files", nargs="+", help="exports, .gz if compressed")
    parser.add_argument("--organization", required=True, help="id of the organization to import into")
    parser.add_argument("--users", help="JSON file: user objects of your product by the userId of converted user lines")
    args = parser.parse_args()
    try:
        accounts = get({"the file": json.loads(open(path := args.users, "rb").read())}, "the file", dict) if args.users else {}
        contents = Contents("" if args.format == "liveblocks" else args.format + "-", {key: get(accounts, key, dict) for key in accounts})
        for path in args.files:
            data = (gzip.open if path.endswith(".gz") else open)(path, "rb").read()
            if not data.strip():
                raise ValueError("the file is empty")
            formats[args.format](contents, data)
        output = list(lines(contents, args.organization))
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
        print(*(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in output), sep="\n", flush=True)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error, xml.parsers.expat.ExpatError) as e:
        sys.exit(f"convert.py: {path}: {e}")
    count = collections.Counter([line["kind"] for line in output] + ["left out: " + c["reason"] for c in contents.comments if c["reason"]])
    print("Converted:", ", ".join(f"{n} {kind}" for kind, n in count.items()), file=sys.stderr)
