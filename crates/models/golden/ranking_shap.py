"""Explains the trees of `ranking.py` by the `shap` package, beside the libraries' own parts.

Into the folder of `ranking.py`: `NAME.shap` has a line for each row of `NAME.rows`, with what each
column adds to the sum. `shap` asks LightGBM and XGBoost for their own values where it can; here
its own code reads the trees (`model_type = "internal"`).

`shap` is not among the requirements of the tests, as it brings a compiler. In an environment with
shap 0.51, lightgbm 4.7 and xgboost 3.2, from the root of the repository:
    python crates/models/golden/ranking_shap.py crates/models/golden/ranking
"""

import json
import sys
from pathlib import Path

import lightgbm as lgb
import numpy as np
import shap
import xgboost as xgb

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
from tidegate import feature_values  # noqa: E402

# Left out: `shap` reads no categories in trees (`kinds`), no weights of XGBoost's dropped trees
# (`xgb-dart`), and no zeros that LightGBM takes for missing (`lgb-zero`).
NAMES = [
    *("lgb-binary.txt", "lgb-dart.txt", "lgb-forest.txt", "lgb-lambdarank.txt"),
    *("xgb-binary.ubj", "xgb-ndcg.json", "xgb-stopped.json"),
]


def booster(path: Path) -> object:
    return lgb.Booster(model_file=path) if path.suffix == ".txt" else xgb.Booster(model_file=path)


def main() -> None:
    folder = Path(sys.argv[1])
    items, requests = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("items", "requests")
    )
    for name in NAMES:
        model = booster(folder / name)
        columns = model.feature_name() if name.endswith(".txt") else model.feature_names
        rows = np.array(
            [feature_values(columns, item, **asked) for asked in requests for item in items]
        )
        explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
        explainer.model.model_type = "internal"
        parts = explainer.shap_values(rows, check_additivity=False)
        with (folder / name).with_suffix(".shap").open("w") as file:
            for line in parts.tolist():
                file.write(" ".join(f"{part:.9g}" for part in line) + "\n")


main()
