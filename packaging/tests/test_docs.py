"""Claims about the guides in docs/deploying: their values render, and what they name is there."""

import re
from pathlib import Path

import pytest
import yaml
from conftest import CHART, ROOT, VERSION

KUBERNETES = ROOT / "docs/deploying/kubernetes.md"
COMPOSE = ROOT / "docs/deploying/compose.md"
IMAGES = (ROOT / "docs/deploying/images.md").read_text()
PAGES = pytest.mark.parametrize("page", [KUBERNETES, CHART / "README.md"], ids=["guide", "README"])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def test_every_example_of_values_renders(render, tmp_path) -> None:
    examples = blocks(KUBERNETES, "yaml")
    assert len(examples) == 6
    for example in examples:
        file = tmp_path / "values.yaml"
        file.write_text(example)
        assert render("--values", file)


@PAGES
def test_every_value_that_is_named_is_one(page) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    text = page.read_text()
    sections = "|".join(key for key, value in values.items() if isinstance(value, dict))
    named = re.findall(rf"`((?:{sections})\.[\w.]+)", text)
    named += re.findall(r"--set(?:-file)? ([\w.]+)=", text)
    assert named
    for name in named:
        value = values
        for key in name.split("."):
            assert key in value, name
            value = value[key]


def test_times_of_a_stop_are_those_of_the_values() -> None:
    stop = yaml.safe_load((CHART / "values.yaml").read_text())["stop"]
    pause, drain = stop["pauseSeconds"], stop["drainSeconds"]
    table = re.findall(r"^\| (\d+) s", KUBERNETES.read_text(), re.MULTILINE)
    told = [int(seconds) for seconds in table]
    after = pause + drain
    assert told == [0, pause, after, after + 10, after + stop["marginSeconds"]]


def test_every_variable_of_the_compose_file_is_explained() -> None:
    files = [path.read_text() for path in (ROOT / "packaging/compose").glob("*.yaml")]
    used = set(re.findall(r"\$\{(\w+)", "".join(files)))
    told = set(re.findall(r"^\| `(TIDEGATE_\w+)` \| [n`]", COMPOSE.read_text(), re.MULTILINE))
    assert told == used


def test_bounds_and_files_of_images_are_those_of_the_script() -> None:
    script = (ROOT / "packaging/make/images.py").read_text()
    bounds = re.search(r'MEGABYTES_MAX = \{"tidegate": (\d+), "tidegate-python": (\d+)\}', script)
    told = re.findall(r"^\| `tidegate.*-image.tar`.*, at most (\d+) \|", IMAGES, re.MULTILINE)
    assert bounds and told == list(bounds.groups())
    commands = re.findall(r"^make ([a-z-]+)$", IMAGES, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert commands == ["image", "image-model"]
    assert all(f"\n{command}: ##" in makefile for command in commands)


def test_the_dockerfile_of_the_guide_installs_libraries_as_compose_does() -> None:
    (dockerfile,) = blocks(ROOT / "docs/deploying/images.md", "dockerfile")
    workers = yaml.safe_load((ROOT / "packaging/compose/workers.yaml").read_text())
    inline = workers["services"]["tidegate"]["build"]["dockerfile_inline"]
    inline = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", inline)
    lines = [line for line in dockerfile.splitlines() if line]
    assert lines[: len(inline.splitlines())] == inline.splitlines()


def test_compose_loads_the_images_that_its_files_name() -> None:
    files = [path.read_text() for path in (ROOT / "packaging/compose").glob("*.yaml")]
    used = set(re.findall(rf"\$\{{\w+:-(tidegate[\w-]*):{VERSION}\}}", "".join(files)))
    told = set(re.findall(rf"(tidegate[\w-]*)-{VERSION}-image\.tar", COMPOSE.read_text()))
    assert told == used == {"tidegate", "tidegate-python"}
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()


def test_options_of_the_script_that_adds_layers_are_told() -> None:
    script = (ROOT / "packaging/make/add.py").read_text()
    options = set(re.findall(r'"(--\w+)"', script)) - {"--quick"}
    assert options == set(re.findall(r"(?<=\s)--(?:env|command)\b", IMAGES))
