"""Claims about the site: `cargo xtask docs` follows every link, and makes the same bytes."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT


def make(program: Path, site: Path) -> str:
    command = ["cargo", "xtask", "docs", "--binary", program, "--to", site]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def site(tidegate, tmp_path_factory) -> Path:
    """A site, whose links were followed as it was made."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    assert re.search(r"\d{3} pages, \d{4} links", make(tidegate, folder))
    return folder


def files(site: Path) -> dict[Path, bytes]:
    return {f.relative_to(site): f.read_bytes() for f in site.rglob("*") if f.is_file()}


def contents(site: Path) -> list[str]:
    return re.findall(r'<a href="([^"]+)"', (site / "toc.html").read_text())


def test_the_same_checkout_makes_the_same_site(site, tidegate, tmp_path) -> None:
    again = tmp_path / "another/place"
    make(tidegate, again)
    one, other = files(site), files(again)
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def test_every_document_and_every_command_is_in_the_contents_once(site, tidegate, tmp_path) -> None:
    listed = contents(site)
    assert len(set(listed)) == len(listed)
    documents = {f.relative_to(ROOT) for f in (ROOT / "docs").rglob("*.md")}
    subprocess.run([tidegate, "manual", tmp_path], check=True, capture_output=True)
    commands = {Path("commands") / f.name for f in tmp_path.glob("*.md")}
    assert len(commands) > 40
    pages = {str(page.with_suffix(".html")) for page in documents | commands}
    assert pages - set(listed) == set()


def test_a_directory_that_is_no_site_is_left_alone(tidegate, tmp_path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine")
    command = ["cargo", "xtask", "docs", "--binary", tidegate, "--to", tmp_path]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 1
    assert "is there, and is no site" in run.stderr
    assert file.read_text() == "mine"
