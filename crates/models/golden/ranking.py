"""Trains rankers of LightGBM and XGBoost, and writes what the libraries say of items and requests.

Into a folder: `items.jsonl` and `requests.jsonl`, and for each model a file `NAME.txt`,
`NAME.json` or `NAME.ubj`. `NAME.rows` has a line for each item of each request: its sum, its score
and, parted by `|`, the parts of its sum (`pred_contrib`, `pred_contribs`), the expected value last.
Columns are named as rankers are, and hold what `tidegate.feature_values` makes of them.

Run from the root of the repository, with `target/venv/bin/python`:
    crates/models/golden/ranking.py crates/models/golden/ranking
"""

import json
import sys
from pathlib import Path

import lightgbm as lgb
import numpy as np
import xgboost as xgb

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
from tidegate import feature_values  # noqa: E402

COLUMNS = [
    *("item.price", "item.stats.age", "item.kind", "item.category=b", "item.category=t"),
    *("user.affinity.b", "user.affinity@item.category", "user.affinity.b*item.category=b"),
    *("user.reads", "context.hour", "context.device=phone", "user.reads*item.price"),
]
KIND = COLUMNS.index("item.kind")
RNG = np.random.default_rng(11)


def item(number: int) -> dict[str, object]:
    found: dict[str, object] = {"id": str(number), "title": f"item {number}"}
    found["category"] = ["b", "t", "e", None][number % 4]
    found["price"] = round(float(RNG.lognormal()), 3)
    found["stats"] = {"age": round(float(RNG.uniform(0, 30)), 1)}
    found["kind"] = int(RNG.integers(0, 9))
    for name in ("price", "stats", "kind"):
        if RNG.random() < 0.15:
            del found[name]
    if RNG.random() < 0.1 and "price" in found:
        found["price"] = 0.0
    return found


def request() -> dict[str, dict[str, object]]:
    shares = np.round(RNG.dirichlet([0.5, 0.5, 0.5]), 3).tolist()
    affinity = {name: x for name, x in zip("bte", shares, strict=True) if x > 0.05}
    user: dict[str, object] = {"affinity": affinity, "reads": int(RNG.integers(0, 40))}
    context: dict[str, object] = {"hour": int(RNG.integers(0, 24)), "device": "phone"}
    if RNG.random() < 0.3:
        del user["reads"]
    if RNG.random() < 0.3:
        del context["hour"]
    context["device"] = ["phone", "tablet"][int(RNG.integers(0, 2))]
    return {"user": user, "context": context}


def rows_of(items: list, requests: list) -> np.ndarray:
    return np.array([feature_values(COLUMNS, one, **asked) for asked in requests for one in items])


def target_of(rows: np.ndarray) -> np.ndarray:
    known = np.nan_to_num(rows)
    return (
        np.log1p(known[:, 0])
        + 2 * known[:, 6]
        + np.sin(known[:, KIND])
        + known[:, 8] * known[:, 3] / 20
        + np.where(known[:, 9] > 12, known[:, 10], 0.3)
    )


ITEMS = [item(number) for number in range(140)]
TRAINED = rows_of(ITEMS, [request() for _ in range(12)])
TARGET = target_of(TRAINED) + RNG.normal(size=len(TRAINED)) * 0.1
GRADES = np.digitize(TARGET, np.quantile(TARGET, [0.25, 0.5, 0.75]))
GROUPS = [len(ITEMS)] * 12
KEPT = ITEMS[:70]
REQUESTS = [{"user": {}, "context": {}}, request(), request()]
REQUESTS[1]["user"]["affinity"] = {"t": 0.7, "b": 0.3}
ROWS = rows_of(KEPT, REQUESTS)


def write(path: Path, sums: np.ndarray, scores: np.ndarray, parts: np.ndarray | None) -> None:
    with path.with_suffix(".rows").open("w") as file:
        for index, (one, score) in enumerate(zip(sums.tolist(), scores.tolist(), strict=True)):
            some = [] if parts is None else parts[index].tolist()
            file.write(f"{one!r} {score!r} | {' '.join(f'{part:.9g}' for part in some)}\n")


def lightgbm(folder: Path, name: str, label: np.ndarray, **params: object) -> None:
    categorical = [KIND] if params.pop("categorical", False) else []
    explained = not params.get("linear_tree", False)
    options = {"num_leaves": 7, "min_data_in_leaf": 5, "learning_rate": 0.3, "num_threads": 1}
    options |= {"seed": 3, "verbosity": -1, "deterministic": True, "min_data_per_group": 5}
    data = lgb.Dataset(
        TRAINED,
        label,
        feature_name=COLUMNS,
        categorical_feature=categorical,
        group=GROUPS if "rank" in str(params["objective"]) else None,
        params={"linear_tree": not explained},
    )
    path = folder / f"{name}.txt"
    lgb.train(options | params, data, 6).save_model(path)
    path.write_text(path.read_text().partition("\nparameters:")[0])
    booster = lgb.Booster(model_file=path)
    sums = booster.predict(ROWS, raw_score=True, num_threads=1)
    parts = booster.predict(ROWS, pred_contrib=True, num_threads=1) if explained else None
    write(path, sums, booster.predict(ROWS, num_threads=1), parts)


def xgboost(folder: Path, name: str, label: np.ndarray, **params: object) -> None:
    kind = params.pop("kind", "json")
    types = ["float"] * len(COLUMNS)
    if params.pop("categorical", False):
        types[KIND] = "c"
    stop = params.pop("stop", False)
    group = GROUPS if "rank" in str(params["objective"]) else None
    named = {"feature_names": COLUMNS, "feature_types": types, "enable_categorical": True}
    data = xgb.DMatrix(TRAINED, label, group=group, **named)
    wrong = xgb.DMatrix(TRAINED, label[::-1], **named)
    options = {"max_depth": 3, "eta": 0.4, "nthread": 1, "seed": 3, "min_child_weight": 0.1}
    booster = xgb.train(
        options | params,
        data,
        6,
        evals=[(wrong, "wrong")] if stop else [],
        early_stopping_rounds=6 if stop else None,
        verbose_eval=False,
    )
    path = folder / f"{name}.{kind}"
    booster.save_model(path)
    booster = xgb.Booster(model_file=path)
    booster.set_param({"nthread": 1})
    rows = xgb.DMatrix(ROWS, **named)
    used = (0, booster.best_iteration + 1 if stop else 0)
    sums = booster.predict(rows, output_margin=True, iteration_range=used)
    parts = booster.predict(rows, pred_contribs=True, iteration_range=used)
    write(path, sums, booster.predict(rows, iteration_range=used), parts)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("items", KEPT), ("requests", REQUESTS)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    two = (GRADES > 1).astype(int)
    lightgbm(folder, "lgb-lambdarank", GRADES, objective="lambdarank")
    lightgbm(folder, "lgb-binary", two, objective="binary")
    lightgbm(folder, "lgb-kinds", TARGET, objective="regression", categorical=True)
    lightgbm(folder, "lgb-zero", TARGET, objective="regression", zero_as_missing=True)
    lightgbm(folder, "lgb-dart", TARGET, objective="regression", boosting="dart")
    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
    lightgbm(folder, "lgb-forest", two, objective="binary", **forest)
    lightgbm(folder, "lgb-linear", TARGET, objective="regression", linear_tree=True)
    xgboost(folder, "xgb-ndcg", GRADES, objective="rank:ndcg")
    xgboost(folder, "xgb-binary", two, objective="binary:logistic", kind="ubj")
    xgboost(folder, "xgb-kinds", TARGET, objective="reg:squarederror", categorical=True)
    dart = {"booster": "dart", "rate_drop": 0.3}
    xgboost(folder, "xgb-dart", np.exp(TARGET / 3), objective="count:poisson", **dart)
    xgboost(folder, "xgb-stopped", two, objective="binary:logistic", stop=True)
    xgboost(folder, "xgb-linear", TARGET, objective="reg:squarederror", booster="gblinear")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
