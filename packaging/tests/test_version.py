"""Claims about the version: each place that has it has that of the program."""

import re

import tomllib
import yaml
from conftest import CHART, ROOT, VERSION

COMMANDS = [ROOT / "docs/DEPLOYING.md", *sorted((ROOT / "docs/deploying").glob("*.md"))]
OF_OURS = r"tidegate(?:-python)?[-_: ](\d+\.\d+\.\d+)"


def test_the_wheel_the_package_and_the_chart_are_of_the_version_of_the_program() -> None:
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    changelog = (ROOT / "packaging/deb/changelog").read_text()
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert project["version"] == VERSION
    assert changelog.startswith(f"tidegate ({VERSION}) ")
    assert chart["appVersion"] == VERSION


def test_compose_takes_images_of_the_version_of_the_program() -> None:
    for name, image in (
        ("compose.yaml", "TIDEGATE_IMAGE:-tidegate"),
        ("workers.yaml", "TIDEGATE_PYTHON_IMAGE:-tidegate-python"),
    ):
        text = (ROOT / "packaging/compose" / name).read_text()
        assert f"${{{image}:{VERSION}}}" in text


def test_commands_of_the_guides_name_the_version_of_the_program() -> None:
    named = {page.name: set(re.findall(OF_OURS, page.read_text())) for page in COMMANDS}
    assert len([page for page, versions in named.items() if versions]) >= 5
    assert {page: versions - {VERSION} for page, versions in named.items()} == {
        page: set() for page in named
    }
