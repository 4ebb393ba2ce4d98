"""Publishing with the real client against a server on loopback that fails on order."""

import pytest
from huggingface_hub import HfApi

from scifigqual_bench.hub.publish import (
    HubError,
    Upload,
    check_version,
    content_hash,
    publish,
    signed_in,
    tag_version,
    verify,
)
from tests.hub.hub_server import TOKEN, Blob

REPO = "user/figures"
COMMIT = r"POST /api/datasets/user/figures/commit"
SEND = r"PUT /lfs/"


@pytest.fixture
def upload(tmp_path):
    """A card, a log and two shards: small files and large ones."""
    (tmp_path / "a.parquet").write_bytes(b"a" * 5000)
    (tmp_path / "b.parquet").write_bytes(b"b" * 70_000)
    (tmp_path / "log.jsonl").write_bytes(b"{}\n")
    files = {
        "README.md": b"---\ntags: [x]\n---\n",
        "data/a.parquet": tmp_path / "a.parquet",
        "data/b.parquet": tmp_path / "b.parquet",
        "log.jsonl": tmp_path / "log.jsonl",
    }
    return Upload(REPO, "dataset", files, replaced=("README.md", "data/*.parquet", "*.jsonl"))


def expected(upload):
    return {path: c if isinstance(c, bytes) else c.read_bytes() for path, c in upload.files.items()}


def test_all_files_appear_in_one_commit_of_a_private_repository(hub, api, upload):
    found = publish(api, upload, public=False, message="first")
    repo = hub.repo("dataset", REPO)
    assert hub.files("dataset", REPO) == expected(upload)
    assert repo.private and found.changed and found.commit == repo.head and len(repo.commits) == 2
    assert found.url == f"{hub.url}/datasets/{REPO}"


def test_a_second_run_sends_and_commits_nothing(hub, api, upload):
    first = publish(api, upload, public=False, message="first")
    sent = len(hub.requests(SEND))
    again = publish(api, upload, public=False, message="again")
    assert (again.commit, again.changed) == (first.commit, False)
    assert len(hub.requests(SEND)) == sent and len(hub.requests(COMMIT)) == 1


def test_shards_of_an_earlier_build_go_and_other_peoples_files_stay(hub, api, upload):
    repo = hub.add_repo("dataset", REPO)
    old = {"data/old.parquet": Blob(b"old", lfs=True), "NOTES.txt": Blob(b"mine", lfs=False)}
    repo.commit(repo.commits[repo.head] | old)
    publish(api, upload, public=False, message="new")
    assert hub.files("dataset", REPO) == expected(upload) | {"NOTES.txt": b"mine"}


def test_it_becomes_public_only_when_asked_and_after_the_commit(hub, api, upload):
    publish(api, upload, public=True, message="first")
    assert not hub.repo("dataset", REPO).private
    (settings,) = hub.requests(r"PUT /api/datasets/user/figures/settings")
    assert hub.log.index(settings) > hub.log.index(hub.requests(COMMIT)[0])


def test_a_public_repository_is_not_filled_by_somebody_who_did_not_ask_for_it(hub, api, upload):
    hub.add_repo("dataset", REPO, private=False)
    with pytest.raises(HubError, match="is public already; pass --public"):
        publish(api, upload, public=False, message="oops")
    assert hub.files("dataset", REPO) == {}


@pytest.mark.parametrize(
    ("where", "what", "said"),
    [
        (r"POST /api/repos/create", {"status": 403}, "may not do that; sign in"),
        (r"POST /api/repos/create", {"status": 500}, "run the command again"),
        (r"preupload", {"status": 401}, "sign in with `hf auth login`"),
        (r"objects/batch", {"status": 403}, "status 403"),
        (SEND, {"status": 403}, "sending files: status 403"),
        (SEND, {"cut": True, "times": 100}, "sending files"),
        (COMMIT, {"status": 403}, "committing: status 403"),
        (COMMIT, {"status": 400}, "committing: status 400 (made to fail); the Hub does not take it"),
        (COMMIT, {"status": 409}, "run the command again"),
        (COMMIT, {"status": 412}, "somebody committed at the same time"),
        (COMMIT, {"status": 500}, "committing: status 500"),
        (COMMIT, {"cut": True}, "committing"),
    ],
)
def test_a_failure_publishes_nothing_and_the_next_run_completes(hub, api, upload, where, what, said, monkeypatch):
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)  # its pauses between attempts
    hub.fail(where, **what)
    with pytest.raises(HubError) as caught:
        publish(api, upload, public=True, message="first")
    assert said in str(caught.value) and REPO in str(caught.value) and TOKEN not in str(caught.value)
    assert ("dataset", REPO) not in hub.repos or (
        hub.files("dataset", REPO) == {} and hub.repo("dataset", REPO).private
    )
    hub.faults.clear()
    publish(api, upload, public=True, message="second")
    assert hub.files("dataset", REPO) == expected(upload) and not hub.repo("dataset", REPO).private


def test_what_was_sent_before_a_failure_is_not_sent_again(hub, api, upload):
    hub.fail(COMMIT, status=500)
    with pytest.raises(HubError):
        publish(api, upload, public=False, message="first")
    assert len(hub.requests(SEND)) == 2
    publish(api, upload, public=False, message="second")
    assert len(hub.requests(SEND)) == 2


def test_a_commit_whose_answer_was_lost_is_found_by_the_next_run(hub, api, upload):
    hub.fail(COMMIT, cut=True, after=True)
    with pytest.raises(HubError, match="committing"):
        publish(api, upload, public=True, message="first")
    assert hub.repo("dataset", REPO).private
    found = publish(api, upload, public=True, message="second")
    assert not found.changed and not hub.repo("dataset", REPO).private and len(hub.repo("dataset", REPO).commits) == 2


def test_a_commit_of_somebody_else_in_between_is_not_overwritten(hub, api, upload):
    publish(api, upload, public=False, message="first")
    repo = hub.repo("dataset", REPO)
    changed = Upload(REPO, "dataset", {"README.md": b"---\ntags: [y]\n---\n"})

    class Racing(HfApi):
        def preupload_lfs_files(self, *args, **kwargs):
            repo.commit(repo.commits[repo.head] | {"theirs.txt": Blob(b"theirs", lfs=False)})
            return super().preupload_lfs_files(*args, **kwargs)

    with pytest.raises(HubError, match="somebody committed at the same time"):
        publish(Racing(endpoint=hub.url, token=TOKEN), changed, public=False, message="second")
    assert hub.files("dataset", REPO) == expected(upload) | {"theirs.txt": b"theirs"}


def test_verification_names_every_file_that_is_not_what_was_sent(hub, api, upload):
    found = publish(api, upload, public=False, message="first")
    files = hub.repo("dataset", REPO).commits[found.commit]
    files["README.md"] = Blob(b"other", lfs=False)
    files["data/a.parquet"] = Blob(b"other", lfs=True)
    del files["log.jsonl"]
    with pytest.raises(HubError) as caught:
        verify(api, upload, found.commit)
    assert [problem.split(": ")[1].split(" is ")[0] for problem in caught.value.problems] == [
        "README.md",
        "data/a.parquet",
        "log.jsonl",
    ]


def test_a_published_version_is_never_changed(hub, api, upload):
    check_version(api, upload, "1.0.0")  # nothing is there yet
    first = publish(api, upload, public=False, message="first")
    tag_version(api, upload, "1.0.0", first.commit)
    check_version(api, upload, "1.0.0")
    changed = Upload(REPO, "dataset", {**upload.files, "README.md": b"---\ntags: [y]\n---\n"})
    with pytest.raises(HubError, match=r"version 1\.0\.0 is published, and 1 of its files differ"):
        check_version(api, changed, "1.0.0")
    check_version(api, changed, "1.1.0")
    tag_version(api, upload, "1.0.0", first.commit)  # a second run
    assert hub.repo("dataset", REPO).tags == {"v1.0.0": first.commit}


def test_who_is_signed_in(hub, api, monkeypatch):
    assert signed_in(api) == "user"
    wrong = "hf_" + "w" * 34
    monkeypatch.setenv("HF_TOKEN", wrong)
    with pytest.raises(HubError) as caught:
        signed_in(HfApi(endpoint=hub.url, token=wrong))
    said = str(caught.value)
    assert "signing in: the Hub does not know this token; sign in" in said and wrong not in said
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(HubError, match="nobody is signed in; sign in with `hf auth login`, or set HF_TOKEN"):
        signed_in(HfApi(endpoint=hub.url))


def test_a_hub_that_cannot_be_reached(api):
    with pytest.raises(HubError, match="signing in: Connect"):
        signed_in(HfApi(endpoint="http://127.0.0.1:9", token=TOKEN))


def test_hashes_are_those_of_git_and_sha256sum(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"hello\n")
    assert (
        content_hash(file, git=True) == content_hash(b"hello\n", git=True) == "ce013625030ba8dba906f756967f9e9ca394464a"
    )
    assert content_hash(file) == "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
