"""A stand-in for the Hugging Face Hub on loopback: it speaks the part of its HTTP protocol that publishing and loading
need, keeps everything in memory, and fails on order.

What it does not have: the web pages, Xet storage (clients fall back to Git LFS with ``HF_HUB_DISABLE_XET=1``), quotas.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

USER = "user"
TOKEN = "hf_" + "t" * 34
REGULAR_BYTES = 10_000_000
"""Above it, or with one of these endings, a file goes to LFS."""
LFS_ENDINGS = (".parquet", ".png", ".zip")
WHEN = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Blob:
    """A file of a commit."""

    data: bytes
    lfs: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def oid(self) -> str:
        """The id that git has for it; an LFS file is a pointer to git."""
        data = self.data
        if self.lfs:
            text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(data)}\n"
            data = text.encode()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.oid


@dataclass
class Repo:
    """A repository: its commits, oldest first, and the names that point at them."""

    kind: str
    name: str
    private: bool
    sdk: str | None = None
    commits: dict[str, dict[str, Blob]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pull_requests: dict[int, tuple[str, str]] = field(default_factory=dict)
    head: str = ""

    def commit(self, files: dict[str, Blob], *, move_head: bool = True) -> str:
        text = json.dumps([len(self.commits), sorted((path, blob.oid) for path, blob in files.items())])
        oid = hashlib.sha1(text.encode()).hexdigest()
        self.commits[oid] = files
        if move_head:
            self.head = oid
        return oid

    def resolve(self, revision: str) -> str | None:
        if revision == "main":
            return self.head
        if match := re.fullmatch(r"refs/pr/(\d+)", revision):
            return self.pull_requests.get(int(match[1]), ("", ""))[1] or None
        return self.tags.get(revision) or (revision if revision in self.commits else None)


@dataclass
class Fault:
    """What happens instead of an answer: a status, or a connection that is cut after some bytes of the request.

    Attributes:
        where: Regular expression on ``"METHOD /path"``.
        times: How often it happens before the server behaves again.
        after: Whether the request is carried out first, so that only its answer is lost.
    """

    where: str
    status: int = 500
    times: int = 1
    cut: bool = False
    after: bool = False


class HubServer(ThreadingHTTPServer):
    """The server; ``url`` is its endpoint."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[tuple[str, str], Repo] = {}
        self.stored: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.log: list[str] = []
        self.lock = threading.RLock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def repo(self, kind: str, name: str) -> Repo:
        return self.repos[kind, name]

    def add_repo(self, kind: str, name: str, *, private: bool = True, sdk: str | None = None) -> Repo:
        repo = self.repos[kind, name] = Repo(kind, name, private, sdk)
        repo.commit({".gitattributes": Blob(b"*.parquet filter=lfs\n", lfs=False)})
        return repo

    def files(self, kind: str, name: str, revision: str = "main") -> dict[str, bytes]:
        """What a repository holds, without what the Hub itself puts there."""
        repo = self.repo(kind, name)
        files = repo.commits[repo.resolve(revision) or ""]
        return {path: blob.data for path, blob in files.items() if path != ".gitattributes"}

    def fail(self, where: str, **what: Any) -> None:
        self.faults.append(Fault(where, **what))

    def requests(self, pattern: str) -> list[str]:
        return [line for line in self.log if re.search(pattern, line)]


@contextmanager
def hub_server() -> Iterator[HubServer]:
    """A running server, stopped at the end of the block."""
    server = HubServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Failure(Exception):
    def __init__(self, status: int, message: str, code: str | None = None):
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


_ROUTES: list[tuple[str, re.Pattern[str], str]] = []
_REPO = r"(?P<name>[^/]+/[^/]+)"
_API = rf"/api/(?P<kind>model|dataset|space)s/{_REPO}"
_WEB = rf"/(?P<prefix>datasets/|spaces/|){_REPO}"


def _route(method: str, pattern: str) -> Any:
    def add(function: Any) -> Any:
        _ROUTES.append((method, re.compile(pattern), function.__name__))
        return function

    return add


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together, or each answer waits for the client's acknowledgement
    server: HubServer

    def log_message(self, *_: Any) -> None:
        pass

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        path, self.query = unquote(parts.path), parse_qs(parts.query)
        line = f"{self.command} {path}"
        with self.server.lock:
            self.server.log.append(line)
            fault = next((f for f in self.server.faults if f.times and re.search(f.where, line)), None)
            if fault:
                fault.times -= 1
        if fault and fault.cut and not fault.after:
            self.rfile.read(min(1000, int(self.headers.get("Content-Length", 0))))
            self.connection.close()
            self.close_connection = True
            return
        self.body = self._read_body()
        try:
            if fault and not fault.after:
                raise _Failure(fault.status, "made to fail")
            self._dispatch(path, fault)
        except _Failure as failure:
            headers = {"X-Error-Message": failure.message}
            if failure.code:
                headers["X-Error-Code"] = failure.code
            self._send({"error": failure.message}, failure.status, headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _dispatch(self, path: str, fault: Fault | None) -> None:
        method = "GET" if self.command == "HEAD" else self.command
        for wanted, pattern, name in _ROUTES:
            match = pattern.fullmatch(path)
            if wanted == method and match:
                with self.server.lock:
                    answer = getattr(self, name)(**match.groupdict())
                if fault:  # carried out, and its answer lost
                    self.connection.close()
                    self.close_connection = True
                elif answer is not None:
                    self._send(answer)
                return
        raise _Failure(404, f"no such page: {method} {path}", "EntryNotFound")

    def _send(self, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    # --- who, and what may they see -------------------------------------------------------------------------------

    def _signed_in(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise _Failure(401, "Invalid username or password.")

    def _repo(self, kind: str, name: str) -> Repo:
        repo = self.server.repos.get((kind, name))
        if repo is None or (repo.private and self.headers.get("Authorization") != f"Bearer {TOKEN}"):
            raise _Failure(401, "Repository not found", "RepoNotFound")
        return repo

    def _files(self, repo: Repo, revision: str) -> tuple[str, dict[str, Blob]]:
        oid = repo.resolve(revision)
        if oid is None:
            raise _Failure(404, f"no revision {revision}", "RevisionNotFound")
        return oid, repo.commits[oid]

    def _json(self) -> Any:
        return json.loads(self.body)

    @_route("GET", "/api/whoami-v2")
    def who(self) -> Any:
        self._signed_in()
        return {"type": "user", "name": USER, "orgs": [{"name": "lab"}], "auth": {"accessToken": {"role": "write"}}}

    # --- repositories ---------------------------------------------------------------------------------------------

    @_route("POST", "/api/repos/create")
    def create(self) -> Any:
        self._signed_in()
        wanted = self._json()
        kind, name = wanted.get("type") or "model", f"{wanted.get('organization') or USER}/{wanted['name']}"
        if (kind, name) in self.server.repos:
            raise _Failure(409, "You already created this repo")
        private = wanted.get("private") or wanted.get("visibility") == "private"
        self.server.add_repo(kind, name, private=bool(private), sdk=wanted.get("sdk"))
        prefix = "" if kind == "model" else f"{kind}s/"
        return {"url": f"{self.server.url}/{prefix}{name}", "name": name}

    @_route("PUT", f"{_API}/settings")
    def settings(self, kind: str, name: str) -> Any:
        self._signed_in()
        wanted = self._json()
        self._repo(kind, name).private = wanted.get("private", wanted.get("visibility") == "private")
        return {"private": self._repo(kind, name).private}

    @_route("GET", f"{_API}(/revision/(?P<revision>.+))?")
    def info(self, kind: str, name: str, revision: str | None = None) -> Any:
        repo = self._repo(kind, name)
        oid, files = self._files(repo, revision or "main")
        siblings = [{"rfilename": path, "size": len(blob.data), "blobId": blob.oid} for path, blob in files.items()]
        about = {"sdk": repo.sdk} if repo.sdk else {}
        times = {"lastModified": WHEN, "createdAt": WHEN}
        return {"_id": "0", "id": name, "sha": oid, "private": repo.private, "siblings": siblings, **about, **times}

    @_route("GET", f"{_API}/refs")
    def refs(self, kind: str, name: str) -> Any:
        repo = self._repo(kind, name)
        tags = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": oid} for tag, oid in repo.tags.items()]
        branches = [{"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head}]
        return {"branches": branches, "converts": [], "tags": tags}

    @_route("POST", f"{_API}/tag/(?P<revision>.+)")
    def tag(self, kind: str, name: str, revision: str) -> Any:
        self._signed_in()
        repo, tag = self._repo(kind, name), self._json()["tag"]
        if tag in repo.tags:
            raise _Failure(409, f"tag {tag} exists")
        repo.tags[tag] = self._files(repo, revision)[0]
        return {}

    # --- upload ---------------------------------------------------------------------------------------------------

    @_route("POST", "/api/validate-yaml")
    def validate_yaml(self) -> Any:
        return {"errors": [], "warnings": []}

    @_route("POST", f"{_API}/preupload/(?P<revision>.+)")
    def preupload(self, kind: str, name: str, revision: str) -> Any:
        self._signed_in()
        _, files = self._files(self._repo(kind, name), revision)

        def plan(wanted: dict[str, Any]) -> dict[str, Any]:
            path = wanted["path"]
            large = path.endswith(LFS_ENDINGS) or wanted["size"] > REGULAR_BYTES
            there = {"oid": files[path].etag} if path in files else {}
            return {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False, **there}

        return {"files": [plan(wanted) for wanted in self._json()["files"]]}

    @_route("POST", rf"{_WEB}\.git/info/lfs/objects/batch")
    def lfs_batch(self, prefix: str, name: str) -> Any:
        self._signed_in()

        def plan(wanted: dict[str, Any]) -> dict[str, Any]:
            if wanted["oid"] in self.server.stored:
                return wanted
            upload = {"href": f"{self.server.url}/lfs/{wanted['oid']}", "header": {}}
            verify = {"href": f"{self.server.url}/lfs-verify", "header": {}}
            return {**wanted, "actions": {"upload": upload, "verify": verify}}

        return {"transfer": "basic", "objects": [plan(wanted) for wanted in self._json()["objects"]]}

    @_route("PUT", "/lfs/(?P<oid>[0-9a-f]{64})")
    def lfs_put(self, oid: str) -> Any:
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise _Failure(400, "the content is not what was announced")
        self.server.stored[oid] = self.body
        return b""

    @_route("POST", "/lfs-verify")
    def lfs_verify(self) -> Any:
        wanted = self._json()
        if len(self.server.stored.get(wanted["oid"], b"")) != wanted["size"]:
            raise _Failure(404, "not stored")
        return {}

    @_route("POST", f"{_API}/commit/(?P<revision>.+)")
    def commit(self, kind: str, name: str, revision: str) -> Any:
        self._signed_in()
        repo = self._repo(kind, name)
        parent, files = self._files(repo, revision)
        files = dict(files)
        title = ""
        for line in self.body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            match entry["key"]:
                case "header":
                    title = value["summary"]
                    if value.get("parentCommit") not in (None, parent):
                        raise _Failure(412, "A commit has happened since. Please refresh and try again.")
                case "file":
                    files[value["path"]] = Blob(base64.b64decode(value["content"]), lfs=False)
                case "lfsFile":
                    if value["oid"] not in self.server.stored:
                        raise _Failure(400, "LFS object not found")
                    files[value["path"]] = Blob(self.server.stored[value["oid"]], lfs=True)
                case "deletedFile":
                    del files[value["path"]]
        answer: dict[str, Any] = {}
        if self.query.get("create_pr"):
            number = len(repo.pull_requests) + 1
            oid = repo.commit(files, move_head=False)
            repo.pull_requests[number] = (title, oid)
            answer["pullRequestUrl"] = f"{self.server.url}/{name}/discussions/{number}"
        elif match := re.fullmatch(r"refs/pr/(\d+)", revision):
            oid = repo.commit(files, move_head=False)
            repo.pull_requests[int(match[1])] = (repo.pull_requests[int(match[1])][0], oid)
        else:
            oid = repo.commit(files)
        return {"success": True, "commitOid": oid, "commitUrl": f"{self.server.url}/{name}/commit/{oid}", **answer}

    @_route("GET", f"{_API}/discussions")
    def discussions(self, kind: str, name: str) -> Any:
        def shown(number: int, title: str) -> dict[str, Any]:
            author = {"name": USER, "type": "user"}
            who = {"author": author, "repo": {"name": name, "type": kind}, "repoOwner": author}
            return {"num": number, "title": title, "status": "open", "isPullRequest": True, "createdAt": WHEN, **who}

        found = [shown(number, title) for number, (title, _) in self._repo(kind, name).pull_requests.items()]
        return {"discussions": found, "count": len(found), "start": 0}

    # --- download -------------------------------------------------------------------------------------------------

    @_route("GET", rf"{_API}/tree/(?P<revision>refs/pr/\d+|[^/]+)(/(?P<path>.*))?")
    def tree(self, kind: str, name: str, revision: str, path: str | None = None) -> Any:
        _, files = self._files(self._repo(kind, name), revision)
        start = f"{path.strip('/')}/" if path else ""
        recursive = self.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        inside = {file: blob for file, blob in files.items() if file.startswith(start)}
        if start and not inside:
            raise _Failure(404, f"no {path}", "EntryNotFound")
        shown = [_file_entry(f, blob) for f, blob in inside.items() if recursive or "/" not in f[len(start) :]]
        folders = {start + file[len(start) :].split("/")[0] for file in inside if "/" in file[len(start) :]}
        return shown + [{"type": "directory", "path": folder, "oid": "0" * 40, "size": 0} for folder in folders]

    @_route("POST", f"{_API}/paths-info/(?P<revision>.+)")
    def paths_info(self, kind: str, name: str, revision: str) -> Any:
        _, files = self._files(self._repo(kind, name), revision)
        text = self.body.decode()
        wanted = json.loads(text)["paths"] if text.startswith("{") else parse_qs(text).get("paths", [])
        found = [_file_entry(path, files[path]) for path in wanted if path in files]
        folders = [path for path in wanted if any(file.startswith(f"{path.rstrip('/')}/") for file in files)]
        return found + [{"type": "directory", "path": path, "oid": "0" * 40, "size": 0} for path in folders]

    @_route("GET", rf"{_WEB}/resolve/(?P<revision>refs/pr/\d+|[^/]+)/(?P<path>.+)")
    def resolve(self, prefix: str, name: str, revision: str, path: str) -> None:
        repo = self._repo(prefix.rstrip("s/") or "model", name)
        oid, files = self._files(repo, revision)
        if path not in files:
            raise _Failure(404, f"Entry not found: {path}", "EntryNotFound")
        blob = files[path]
        headers = {"ETag": f'"{blob.etag}"', "X-Repo-Commit": oid, "Accept-Ranges": "bytes"}
        data, status = blob.data, 200
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(match[1]), int(match[2] or len(data) - 1)
            headers["Content-Range"] = f"bytes {first}-{min(last, len(data) - 1)}/{len(data)}"
            data, status = data[first : last + 1], 206
        self._send(data, status, {**headers, "Content-Type": "application/octet-stream"})


def _file_entry(path: str, blob: Blob) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": path, "oid": blob.oid, "size": len(blob.data)}
    if blob.lfs:
        entry["lfs"] = {"oid": blob.sha256, "size": len(blob.data), "pointerSize": 134}
    return entry
