"""Makes MLServer's document of the Open Inference Protocol one of any server's.

Left out is what MLServer adds (streams, `generate`); the type `bytes`, which JSON Schema does not
have, is left to arrays; and a model that is not there may be 404 in every path, which the document
says of some. Arguments: DOCUMENT FOLDER.
"""

import json
import sys
from pathlib import Path

document = json.loads(Path(sys.argv[1]).read_text())
paths = document["paths"]
for path in [path for path in paths if "generate" in path or "stream" in path]:
    del paths[path]
for path in [path for path in paths if path.endswith("/ready") and "models" in path]:
    paths[path]["get"]["responses"]["404"] = {"description": "Not Found"}
document["components"]["schemas"]["TensorData"] = {"type": "array"}
for operation in paths.values():
    for parameter in operation.get("parameters", []):
        if parameter["name"] == "model_name":
            parameter["schema"] = {"anyOf": [{"enum": ["line"]}, {"type": "string"}]}
Path(sys.argv[2], "protocol.json").write_text(json.dumps(document))
