"""Bring files to repositories of the Hub, so that a reader sees all of them or none.

Large files are sent first and are invisible until a commit names them; one commit then makes every change of a
repository at once. A repository that is new stays private until what it holds has been compared with what was sent. So
a run can be cut anywhere: the next one sends what is missing, and nothing twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from scifigqual_bench.errors import InputError

if TYPE_CHECKING:
    from huggingface_hub.hf_api import DatasetInfo, ModelInfo, SpaceInfo

RepoType = Literal["dataset", "space", "model"]
_SIGN_IN = "sign in with `hf auth login`, or set HF_TOKEN to a token that may write"
_REMEDIES = {
    400: "the Hub does not take it as it is",
    401: f"there is no such repository, or it is not yours to see; {_SIGN_IN}",
    403: f"the token may not do that; {_SIGN_IN}",
    404: "there is no such repository or revision; check the name",
    409: "something else is at work on this repository, or it exists already; run the command again",
    412: "somebody committed at the same time; run the command again",
    413: "the Hub finds it too large",
    429: "the Hub asks to slow down; run the command again in a few minutes",
}


class HubError(InputError):
    """The Hub refused, or could not be reached; says what was done and what to do."""


@dataclass(frozen=True)
class Upload:
    """What one repository shall hold.

    Attributes:
        repo_id: ``"user/name"``.
        files: By path in the repository, where the content is, or the content itself.
        replaced: Patterns of paths that this project keeps there: files of the repository that match one and are not
            among ``files`` are deleted in the same commit, so that no shard of an earlier build stays behind.
        sdk: Of a Space.
    """

    repo_id: str
    repo_type: RepoType
    files: Mapping[str, Path | bytes]
    replaced: tuple[str, ...] = ()
    sdk: str | None = None

    @property
    def url_path(self) -> str:
        """The repository's path below the Hub's address."""
        return self.repo_id if self.repo_type == "model" else f"{self.repo_type}s/{self.repo_id}"


@dataclass(frozen=True)
class Published:
    """What stands on the Hub after an upload.

    Attributes:
        commit: The commit that holds it.
        changed: Whether this run made that commit; a second run over the same files makes none.
        url: For people.
    """

    commit: str
    changed: bool
    url: str


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Turn whatever the client raises into a sentence with a remedy and without a token in it."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # the client raises its own, its HTTP library's and built-in types
        root: BaseException | None = error
        while root is not None and not isinstance(root, HfHubHTTPError):
            root = root.__cause__ or root.__context__
        status = root.response.status_code if isinstance(root, HfHubHTTPError) and root.response is not None else None
        remedy = _REMEDIES.get(status or 0, "run the command again: what was sent already is not sent twice")
        what = f"{type(error).__name__}: {error}"
        if status:
            what = f"status {status}" + (f" ({root.server_message})" if root.server_message else "")
        raise HubError(f"{doing}: {_without_token(what)}; {remedy}") from None


def _without_token(text: str) -> str:
    token = get_token()
    return text.replace(token, "***") if token else text


def need_token() -> None:
    """Refuse to go on without a token; whether it is good, the Hub says later.

    Raises:
        HubError: Nobody is signed in.
    """
    if get_token() is None:
        raise HubError(f"nobody is signed in; {_SIGN_IN}")


def signed_in(api: HfApi) -> str:
    """Who publishes.

    Raises:
        HubError: Nobody is signed in, the Hub does not know the token, or it can't be reached.
    """
    if api.token is None:
        need_token()
    with told("signing in"):
        try:
            return api.whoami()["name"]
        except HfHubHTTPError as error:
            if error.response is not None and error.response.status_code == 401:
                raise HubError(f"signing in: the Hub does not know this token; {_SIGN_IN}") from None
            raise


def prepare(api: HfApi, upload: Upload, *, public: bool) -> bool:
    """Make the repository where it is missing, as a private one.

    Args:
        api: A signed in client.
        upload: What shall be published.
        public: Whether anybody may read it in the end.

    Returns:
        Whether the repository is private now.

    Raises:
        HubError: It is public and ``public`` is off, or it can't be made.
    """
    with told(f"{upload.url_path}: making the repository"):
        try:
            private = bool(_info(api, upload).private)
        except RepositoryNotFoundError:
            api.create_repo(
                upload.repo_id, repo_type=upload.repo_type, private=True, space_sdk=upload.sdk, exist_ok=True
            )
            private = True
    if not private and not public:
        raise HubError(f"{upload.url_path} is public already; pass --public, or name another repository")
    return private


def _info(api: HfApi, upload: Upload) -> DatasetInfo | ModelInfo | SpaceInfo:
    return api.repo_info(upload.repo_id, repo_type=upload.repo_type)


def publish(api: HfApi, upload: Upload, *, public: bool, message: str) -> Published:
    """Publish one repository.

    Args:
        api: A signed in client.
        upload: What it shall hold.
        public: Whether anybody may read it in the end; it becomes so only after its content has been verified.
        message: Of the commit.

    Raises:
        HubError: Something failed; what the repository showed before is what it shows still.
    """
    private = prepare(api, upload, public=public)
    with told(f"{upload.url_path}: reading what is there"):
        before = _info(api, upload).sha
        there = api.list_repo_files(upload.repo_id, repo_type=upload.repo_type)
    stale = [path for path in there if path not in upload.files and _matches(path, upload.replaced)]
    additions = [CommitOperationAdd(path, _content(content)) for path, content in upload.files.items()]
    with told(f"{upload.url_path}: sending files"):
        api.preupload_lfs_files(upload.repo_id, additions, repo_type=upload.repo_type)
    with told(f"{upload.url_path}: committing"):
        commit = api.create_commit(
            upload.repo_id,
            [*additions, *(CommitOperationDelete(path) for path in stale)],
            commit_message=message,
            repo_type=upload.repo_type,
            parent_commit=before,
        ).oid
    verify(api, upload, commit)
    if public and private:
        with told(f"{upload.url_path}: making it public"):
            api.update_repo_settings(upload.repo_id, repo_type=upload.repo_type, private=False)
    return Published(commit, commit != before, f"{api.endpoint}/{upload.url_path}")


def _content(content: Path | bytes) -> str | bytes:
    return str(content) if isinstance(content, Path) else content


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def verify(api: HfApi, upload: Upload, revision: str) -> None:
    """Compare what a revision holds with what was sent, by the hashes that the Hub states.

    Raises:
        HubError: A file is missing or another one; names all of them.
    """
    with told(f"{upload.url_path}: verifying"):
        entries = api.list_repo_tree(upload.repo_id, recursive=True, revision=revision, repo_type=upload.repo_type)
        held = {entry.path: entry for entry in entries}
    faults = []
    for path, content in upload.files.items():
        entry = held.get(path)
        if entry is None:
            faults.append(f"{upload.url_path}: {path} is missing after the upload; run the command again")
        elif not _is_content(entry, content):
            faults.append(f"{upload.url_path}: {path} is not what was sent; run the command again")
    if faults:
        raise HubError(faults)


def _is_content(entry: object, content: Path | bytes) -> bool:
    """Whether a file on the Hub is this one: by SHA-256 where it is a large file, by git's own hash where not."""
    lfs = getattr(entry, "lfs", None)
    return (lfs.sha256 if lfs else getattr(entry, "blob_id", None)) == content_hash(content, git=lfs is None)


def content_hash(content: Path | bytes, *, git: bool = False) -> str:
    """SHA-256 of a content, or the id that git gives it.

    >>> content_hash(b"", git=True)
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    size = content.stat().st_size if isinstance(content, Path) else len(content)
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False) if git else hashlib.sha256()
    if isinstance(content, bytes):
        digest.update(content)
    else:
        with content.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def check_version(api: HfApi, upload: Upload, version: str | None) -> None:
    """Refuse to change what was published under a version.

    Raises:
        HubError: The version is on the Hub, and holds other files.
    """
    commit = _tagged(api, upload, version)
    if commit is None:
        return
    try:
        verify(api, upload, commit)
    except HubError as error:
        differing = len(error.problems)
        raise HubError(
            f"{upload.url_path}: version {version} is published, and {differing} of its files differ from these; "
            "raise the version in the dataset's card"
        ) from None


def tag_version(api: HfApi, upload: Upload, version: str | None, commit: str) -> None:
    """Name a commit after the version that it holds, unless the version stands there already.

    Raises:
        HubError: The Hub refused.
    """
    if version is not None and _tagged(api, upload, version) is None:
        with told(f"{upload.url_path}: tagging v{version}"):
            api.create_tag(upload.repo_id, tag=f"v{version}", revision=commit, repo_type=upload.repo_type)


def _tagged(api: HfApi, upload: Upload, version: str | None) -> str | None:
    """The commit that holds a version; None where it is not published."""
    if version is None:
        return None
    with told(f"{upload.url_path}: reading its versions"):
        try:
            refs = api.list_repo_refs(upload.repo_id, repo_type=upload.repo_type)
        except RepositoryNotFoundError:
            return None
    return next((ref.target_commit for ref in refs.tags if ref.name == f"v{version}"), None)
