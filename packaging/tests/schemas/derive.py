"""Writes the schemas beside it from those of Kubernetes, Prometheus Operator and Compose.

They hold only the kinds that the chart makes, without descriptions, and refuse unknown fields.
Where Go is: `go mod download` of the three modules in `MODULES`, then `python3 derive.py`.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
MODULES = {
    "kubernetes": "k8s.io/kubernetes@v1.37.2",
    "operator": "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "compose": "github.com/compose-spec/compose-go/v2@v2.16.2",
}
KINDS = {
    "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "HorizontalPodAutoscaler": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "Ingress": "io.k8s.api.networking.v1.Ingress",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
    "PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "Secret": "io.k8s.api.core.v1.Secret",
    "Service": "io.k8s.api.core.v1.Service",
    "StatefulSet": "io.k8s.api.apps.v1.StatefulSet",
}
CUSTOM = {"PrometheusRule": "prometheusrules", "ServiceMonitor": "servicemonitors"}
REFERENCE = "#/definitions/"


def folder(module: str) -> Path:
    command = ["go", "list", "-m", "-f", "{{.Dir}}", MODULES[module]]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def strict(schema: Any) -> Any:
    """Without what people read, and Go's own patterns; an object with properties has no others."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: {name: strict(part) for name, part in value.items()}
        if key == "properties"
        else strict(value)
        for key, value in schema.items()
        if key != "description"
        and not key.startswith("x-kubernetes-")
        and not (key == "pattern" and "(?i)" in value)
    }
    if kept.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if "properties" in kept:
        kept.setdefault("additionalProperties", False)
    return kept


def closure(name: str, definitions: dict[str, Any], into: dict[str, Any]) -> None:
    """Adds a definition, and all that it refers to."""
    if name in into:
        return
    into[name] = strict(definitions[name])
    if name.endswith("api.resource.Quantity"):
        into[name] = {"type": ["number", "string"]}
    text = json.dumps(into[name])
    for part in text.split(f'"$ref": "{REFERENCE}')[1:]:
        closure(part.split('"')[0], definitions, into)


def kubernetes() -> dict[str, Any]:
    path = folder("kubernetes") / "api/openapi-spec/swagger.json"
    definitions = json.loads(path.read_text())["definitions"]
    into: dict[str, Any] = {}
    for name in KINDS.values():
        closure(name, definitions, into)
    kinds = {kind: {"$ref": REFERENCE + name} for kind, name in KINDS.items()}
    crds = folder("operator") / "example/prometheus-operator-crd"
    for kind, plural in CUSTOM.items():
        crd = yaml.safe_load((crds / f"monitoring.coreos.com_{plural}.yaml").read_text())
        schema = strict(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = kinds["Service"] | {
            "$ref": REFERENCE + "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
        }
        kinds[kind] = schema
    return {"kinds": kinds, "definitions": into}


def write(name: str, schema: dict[str, Any]) -> None:
    (HERE / name).write_text(json.dumps(schema, sort_keys=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    write("kubernetes.json", kubernetes())
    compose = (folder("compose") / "schema/compose-spec.json").read_text()
    write("compose.json", json.loads(compose))
