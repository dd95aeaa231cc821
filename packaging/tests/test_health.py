"""Claims about `tidegate health`, which probes of the chart and Compose run."""

import subprocess

import pytest
from conftest import serving

CONFIG = """
[listen]
public = "127.0.0.1:0"
admin  = "127.0.0.1:0"

[[model]]
name = "news"
file = "missing.json"

[[route]]
path = "/{*rest}"
to   = "models"
"""


@pytest.fixture
def ask(tidegate):
    def ask(page: str, port: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {"TIDEGATE_ADMIN_TOKEN": token} if token else {}
        command = [tidegate, "health", page, "--admin", f"127.0.0.1:{port}"]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return ask


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "tidegate.toml"
    file.write_text(CONFIG)
    return file


def test_a_pod_without_its_model_lives_and_is_not_ready(tidegate, ask, config) -> None:
    with serving(tidegate, config) as port:
        assert ask("live", port).returncode == 0
        ready = ask("ready", port)
    assert ready.returncode == 1
    assert "model `news` has no good file yet" in ready.stdout


def test_the_token_of_the_environment_opens_the_page(tidegate, ask, config) -> None:
    with serving(tidegate, config, TIDEGATE_ADMIN_TOKEN="right") as port:
        assert ask("live", port, "right").returncode == 0
        wrong = ask("live", port, "wrong")
    assert wrong.returncode == 1
    assert "send the admin token" in wrong.stdout


def test_a_server_that_has_ended_fails_the_probe(tidegate, ask, config) -> None:
    with serving(tidegate, config) as port:
        pass
    assert ask("live", port).returncode == 1
