"""Claims about the bill of materials: it follows CycloneDX's schema, and is what was linked."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from conftest import ROOT

# `cargo xtask setup --test` puts a package there that has the schemas.
SCHEMAS = ROOT / "target/cyclonedx/cyclonedx/schema/_res"


def make(folder: Path) -> bytes:
    command = ["cargo", "xtask", "package", "sbom", "--to", str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return Path(run.stdout.strip()).read_bytes()


def schema(file_name: str) -> Any:
    file = SCHEMAS / file_name
    assert file.exists(), "the schemas are missing: run `cargo xtask setup --test`"
    return json.loads(file.read_text())


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> bytes:
    return make(tmp_path_factory.mktemp("sbom"))


@pytest.fixture(scope="module")
def bill(written) -> Any:
    return json.loads(written)


@pytest.fixture(scope="module")
def validator() -> Any:
    root = schema("bom-1.6.SNAPSHOT.schema.json")
    # It refers to its neighbours by the names of their files.
    others = ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")
    named = [(root["$id"].rsplit("/", 1)[0] + f"/{name}", schema(name)) for name in others]
    registry = jsonschema_rs.Registry(named)
    return jsonschema_rs.validator_for(root, registry=registry)


def test_it_follows_the_schema_of_cyclonedx_1_6(bill, validator) -> None:
    assert bill["specVersion"] == "1.6"
    errors = [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(bill)]
    assert errors == []


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("type", "crate"), ("scope", "linked"), ("hashes", [{"alg": "SHA-256", "content": "0"}])],
)
def test_the_schema_refuses_what_is_none_of_its_values(bill, validator, field, wrong) -> None:
    damaged = bill | {"components": [bill["components"][0] | {field: wrong}]}
    assert not validator.is_valid(damaged)


def test_what_is_required_is_what_the_program_says_it_is_linked_of(bill, tidegate) -> None:
    command = [tidegate, "version", "--verbose"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    linked = set(re.findall(r"^  (\S+ \S+)$", told, re.MULTILINE))
    assert len(linked) > 200
    parts = [part for part in bill["components"] if "purl" in part]
    required = {f"{p['name']} {p['version']}" for p in parts if p["scope"] == "required"}
    assert required == linked


def test_each_reference_is_that_of_a_component(bill) -> None:
    components = [bill["metadata"]["component"], *bill["components"]]
    references = [component["bom-ref"] for component in components]
    assert len(set(references)) == len(references)
    edges = bill["dependencies"]
    assert [edge["ref"] for edge in edges if edge["ref"] not in references] == []
    needed = {needed for edge in edges for needed in edge["dependsOn"]}
    program = bill["metadata"]["component"]["bom-ref"]
    assert needed == set(references) - {program}


def test_the_same_checkout_gives_the_same_bytes(written, tmp_path) -> None:
    assert make(tmp_path) == written
