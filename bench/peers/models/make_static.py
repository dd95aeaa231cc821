"""Makes static embeddings as Model2Vec saves them, from an encoder's folder.

Arguments: the folder of the encoder, the folder to write. Vectors are those of the encoder's words,
turned to their 256 principal directions: as many words and numbers as Model2Vec's own models have.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

DIMS = 256


def main() -> None:
    encoder, folder = map(Path, sys.argv[1:])
    folder.mkdir(exist_ok=True)
    words = load_file(encoder / "model.safetensors")["embeddings.word_embeddings.weight"]
    centred = words - words.mean(0)
    directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :DIMS]
    vectors = np.ascontiguousarray(centred @ directions, np.float32)
    save_file({"embeddings": vectors}, folder / "model.safetensors")
    shutil.copyfile(encoder / "tokenizer.json", folder / "tokenizer.json")
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True}
    (folder / "config.json").write_text(json.dumps(config))


main()
