"""Trains rankers of LightGBM, XGBoost and scikit-learn, and writes what the libraries, or ONNX
Runtime, say of items and requests.

Into a folder: `items.jsonl` and `requests.jsonl`, and for each model a file `NAME.txt`,
`NAME.json`, `NAME.ubj` or `NAME.onnx`. `NAME.rows` has a line for each item of each request. It
has its sum and its score, then behind `|` the parts of its sum (`pred_contrib`, `pred_contribs`).
The expected value is the last of these.
Columns are named as rankers are, and hold what `tidegate.feature_values` makes of them.

Run from the root of the repository, with `target/venv/bin/python`:
    crates/models/golden/ranking.py crates/models/golden/ranking
"""

import json
import sys
from pathlib import Path

import lightgbm as lgb
import numpy as np
import onnx
import onnxruntime
import xgboost as xgb
from onnx import TensorProto, helper
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
from tidegate import export_ranker, feature_values  # noqa: E402

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


def run(folder: Path, name: str, given: list[np.ndarray]) -> None:
    """Writes what ONNX Runtime says; `given` are the columns of each input."""
    session = onnxruntime.InferenceSession(folder / f"{name}.onnx")
    names = [one.name for one in session.get_inputs()]
    *_, scores = session.run(None, dict(zip(names, given, strict=True)))
    scores = np.asarray(scores).reshape(len(ROWS), -1)[:, -1].astype(float)
    write(folder / f"{name}.onnx", scores, scores, None)


def texts_of(source: str, name: str) -> np.ndarray:
    """A column of texts of all items in all requests; an absent one is none of the model's."""
    pairs = [(one, asked) for asked in REQUESTS for one in KEPT]
    found = [(one if source == "item" else asked[source]).get(name) for one, asked in pairs]
    return np.array([[text or ""] for text in found], dtype=object)


def graphs(folder: Path) -> None:
    two = (GRADES > 1).astype(int)
    for name, label, final in (
        ("onnx-forest", TARGET, RandomForestRegressor(4, max_depth=4, random_state=1)),
        ("onnx-classes", two, RandomForestClassifier(4, max_depth=4, random_state=1)),
    ):
        model = make_pipeline(SimpleImputer(), final).fit(TRAINED.astype(np.float32), label)
        export_ranker(model, folder / f"{name}.onnx", features=COLUMNS)
        run(folder, name, [ROWS.astype(np.float32)])
    numbers = COLUMNS[:2]
    fields = [*numbers, "item.category", "context.device"]
    kinds = RNG.choice(["b", "t", "e", ""], size=(len(TRAINED), 1))
    devices = RNG.choice(["phone", "tablet"], size=(len(TRAINED), 1))
    parts = [
        ("numbers", SimpleImputer(), [0, 1]),
        ("texts", OneHotEncoder(handle_unknown="ignore", sparse_output=False), [2, 3]),
    ]
    model = make_pipeline(
        ColumnTransformer(parts), RandomForestRegressor(4, max_depth=4, random_state=1)
    )
    label = np.nan_to_num(TRAINED[:, 0]) + 3 * (kinds[:, 0] == "b") + (devices[:, 0] == "phone")
    rows = np.concatenate([TRAINED[:, :2].astype(object), kinds, devices], axis=1, dtype=object)
    model.fit(rows, label)
    export_ranker(model, folder / "onnx-texts.onnx", features=fields, texts=fields[2:])
    floats = [ROWS[:, at : at + 1].astype(np.float32) for at in (0, 1)]
    run(
        folder, "onnx-texts", [*floats, texts_of("item", "category"), texts_of("context", "device")]
    )
    # reads / 2 + price, of inputs that name themselves.
    inputs = [
        helper.make_tensor_value_info("user.reads", TensorProto.INT64, [None, 1]),
        helper.make_tensor_value_info("item.price", TensorProto.FLOAT, [None, 1]),
    ]
    nodes = [
        helper.make_node(
            "Imputer",
            ["item.price"],
            ["price"],
            domain="ai.onnx.ml",
            **{
                "imputed_value_floats": [0.5],
                "replaced_value_float": float("nan"),
            },
        ),
        helper.make_node("Cast", ["user.reads"], ["reads"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["reads", "two"], ["half"]),
        helper.make_node("Add", ["half", "price"], ["score"]),
    ]
    two_floats = [helper.make_tensor("two", TensorProto.FLOAT, [1], [2.0])]
    outputs = [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])]
    graph = helper.make_graph(nodes, "kinds", inputs, outputs, two_floats)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    path = folder / "onnx-kinds.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    reads = np.nan_to_num(ROWS[:, COLUMNS.index("user.reads")])[:, None].astype(np.int64)
    run(folder, "onnx-kinds", [reads, floats[0]])


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
    graphs(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
