"""Trains models, exports them as skl2onnx and onnxmltools do, and writes what they give for rows.

For each model a file `NAME.onnx`, and beside it `NAME.rows`: a line with the names of the outputs,
then per line a row and its outputs, parted by `|`, as ONNX Runtime gives them with one thread; the
last part holds what the library that trained the model gives for its last output, where that is
the same thing. Rows hold what trained models may meet: zeros, limits of splits and their
neighbours, huge numbers, and NaN and infinities where the library takes them.

Run from the root of the repository, for the small ones that the tests read:
    pip install -r python/requirements-test.txt
    ORT_DISABLE_TELEMETRY=1 python3 crates/models/golden/onnx_models.py crates/models/golden/onnx
for a model added to this file, without touching the others:
    … crates/models/golden/onnx --only operator-softsign
and for more rows and larger models:
    ORT_DISABLE_TELEMETRY=1 python3 crates/models/golden/onnx_models.py FOLDER --rows 900 --trees 40
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import lightgbm as lgb
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import xgboost as xgb
from onnx import helper
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as MltoolsFloats
from skl2onnx import to_onnx
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn import (
    ensemble,
    gaussian_process,
    linear_model,
    mixture,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    svm,
    tree,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

FEATURES = 5
HUGE = [0.0, -0.0, 1e30, -1e30, 1e-40, 1e6, -1e6]
ODD = [np.nan, np.inf, -np.inf]


class Maker:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rng = np.random.default_rng(7)
        self.folder = Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def train_rows(self, missing: bool = False) -> np.ndarray:
        x = self.rng.normal(size=(300, FEATURES))
        x[:, 1] = np.round(x[:, 1] * 4) / 4
        x[:, 2] = np.where(self.rng.random(300) < 0.4, 0.0, x[:, 2])
        if missing:
            x[self.rng.random(x.shape) < 0.1] = np.nan
        return x.astype(np.float32)

    def target(self, x: np.ndarray) -> np.ndarray:
        x = np.nan_to_num(x)
        noise = self.rng.normal(size=len(x)) * 0.1
        return x[:, 0] * x[:, 1] + np.abs(x[:, 2]) + x[:, 3] - 0.5 * x[:, 4] + noise

    def rows(
        self, model: onnx.ModelProto, wild: list[float], has_limits: bool = True
    ) -> np.ndarray:
        """Rows like those of training, some numbers of which are odd."""
        rng, count = self.rng, self.options.rows
        x = self.train_rows()[rng.integers(0, 300, count)]
        limits = limits_of(model) if has_limits else {}
        for feature in range(FEATURES):
            pool = list(wild)
            for limit in rng.choice(limits.get(feature, [0.0]), 6):
                near = np.float32(limit)
                pool += [near, np.nextafter(near, np.float32(-np.inf))]
                pool += [np.nextafter(near, np.float32(np.inf))]
            chosen = rng.random(count) < 0.25
            x[chosen, feature] = rng.choice(np.array(pool, dtype=np.float32), chosen.sum())
        return x

    def write(
        self,
        name: str,
        model: onnx.ModelProto,
        rows: np.ndarray,
        theirs: np.ndarray | None = None,
    ) -> None:
        """Writes a model, rows, and what ONNX Runtime makes of them."""
        if not name.startswith(self.options.only):
            return
        model.ClearField("doc_string")
        path = self.folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        start, feed = 0, {}
        for port in session.get_inputs():
            kind = {
                "tensor(float)": np.float32,
                "tensor(double)": np.float64,
                "tensor(string)": object,
            }
            part = rows[:, start : start + port.shape[1]]
            feed[port.name] = part.astype(kind.get(port.type, np.int64))
            start += port.shape[1]
        outputs = [table(output) for output in session.run(None, feed)]
        names = " ".join(port.name for port in session.get_outputs())
        with path.with_suffix(".rows").open("w") as file:
            file.write(names + "\n")
            for index, row in enumerate(rows):
                parts = [row, *(output[index] for output in outputs)]
                parts.append([] if theirs is None else np.ravel(theirs[index]))
                file.write(" | ".join(" ".join(map(text, part)) for part in parts) + "\n")

    def sklearn(
        self,
        name: str,
        model: object,
        label: Callable,
        wild: list[float] = HUGE,
        doubles: bool = False,
        missing: bool = False,
        **options: object,
    ) -> None:
        x = self.train_rows(missing)
        model.fit(x, label(self.target(x)))
        kind = DoubleTensorType if doubles else FloatTensorType
        types = options.pop("types", [("x", kind([None, FEATURES]))])
        has_limits = options.pop("limits", True)
        is_same = options.pop("is_same", True)
        exported = to_onnx(model, initial_types=types, **options)
        rows = self.rows(exported, wild, has_limits)
        scores = model.predict_proba if hasattr(model, "predict_proba") else model.predict
        is_raw = "options" in options and "raw_scores" in str(options["options"])
        if hasattr(model, "predict_proba") and is_raw:
            scores = model.decision_function
        is_label = not hasattr(model, "predict_proba") and hasattr(model, "classes_")
        theirs = (
            None
            if is_label or not is_same
            else scores(rows.astype(np.float64) if doubles else rows)
        )
        self.write(name, exported, rows, theirs)


def table(output: object) -> np.ndarray:
    """An output as rows; `ZipMap` gives a list of maps."""
    if isinstance(output, list):
        output = np.array([list(row.values()) for row in output])
    return output.reshape(-1, 1) if output.ndim == 1 else output.reshape(len(output), -1)


def text(number: object) -> str:
    if isinstance(number, str):
        return number
    if isinstance(number, float | np.floating):
        return repr(float(number))
    return repr(int(number))


def limits_of(model: onnx.ModelProto) -> dict[int, list[float]]:
    """What trees compare each feature with."""
    limits: dict[int, list[float]] = {}
    for node in model.graph.node:
        found = {attribute.name: attribute for attribute in node.attribute}
        if "nodes_values" not in found:
            continue
        values = found["nodes_values"].floats
        for feature, value in zip(found["nodes_featureids"].ints, values, strict=True):
            limits.setdefault(feature, []).append(value)
    return limits


def same(y: np.ndarray) -> np.ndarray:
    return y


def pair(y: np.ndarray) -> np.ndarray:
    return np.stack([y, -y * y], 1)


def positive(y: np.ndarray) -> np.ndarray:
    return np.exp(y / 3)


def classes(count: int, names: str = "") -> Callable:
    def label(y: np.ndarray) -> np.ndarray:
        numbers = np.digitize(y, np.quantile(y, np.linspace(0, 1, count + 1)[1:-1]))
        return np.array(names.split())[numbers] if names else numbers

    return label


def linear_models(make: Maker) -> None:
    skl, two, three = make.sklearn, classes(2), classes(3)
    names = classes(3, "low middle high")
    calm = [0.0, -0.0, 10.0, -10.0]
    skl("logistic-two", linear_model.LogisticRegression(), two, calm)
    skl("logistic-three", linear_model.LogisticRegression(), three, calm)
    skl("logistic-names", linear_model.LogisticRegression(), names, calm)
    no_map = {"zipmap": False}
    skl("logistic-table", linear_model.LogisticRegression(), two, calm, options=no_map)
    columns = {"zipmap": "columns"}
    skl(
        "logistic-columns",
        linear_model.LogisticRegression(),
        two,
        calm,
        options=columns,
        is_same=False,
    )
    raw = {"raw_scores": True, "zipmap": False}
    skl("logistic-raw", linear_model.LogisticRegression(), three, calm, options=raw)
    wide = {"doubles": True, "options": no_map}
    skl("logistic-doubles", linear_model.LogisticRegression(), two, calm, **wide)
    skl("logistic-three-doubles", linear_model.LogisticRegression(), names, calm, **wide)
    skl("linear", linear_model.LinearRegression(), same, calm)
    skl("linear-pair", linear_model.LinearRegression(), pair, calm)
    skl("linear-doubles", linear_model.LinearRegression(), pair, calm, doubles=True)
    skl("ridge", linear_model.Ridge(), same, calm)
    skl("ridge-classes", linear_model.RidgeClassifier(), three, calm)
    skl("elastic", linear_model.ElasticNet(), same, calm)
    skl("poisson", linear_model.PoissonRegressor(), positive, [0.0, 2.0])
    sgd = linear_model.SGDClassifier
    skl("sgd-two", sgd(loss="log_loss"), two, calm)
    skl("sgd-three", sgd(loss="log_loss"), three, [0.0, 3.0])
    skl("sgd-huber", sgd(loss="modified_huber"), three, calm)
    skl("sgd-hinge", sgd(), names, calm, options=raw)
    skl("sgd-doubles", sgd(loss="log_loss"), two, calm, **wide)
    skl("sgd-regression", linear_model.SGDRegressor(), same, calm)
    skl("svc-linear", svm.LinearSVC(), three, calm)


def pipelines(make: Maker) -> None:
    skl, two, calm = make.sklearn, classes(2), [0.0, 50.0, -50.0]
    logistic = linear_model.LogisticRegression
    impute = make_pipeline(SimpleImputer(), preprocessing.StandardScaler(), logistic())
    skl("pipeline-impute", impute, two, [*calm, np.nan], missing=True)
    ranges = make_pipeline(preprocessing.MinMaxScaler(), linear_model.Ridge())
    skl("pipeline-ranges", ranges, same, calm)
    clipped = make_pipeline(preprocessing.MinMaxScaler(clip=True), linear_model.Ridge())
    skl("pipeline-clipped", clipped, same, calm)
    robust = make_pipeline(preprocessing.RobustScaler(), preprocessing.MaxAbsScaler(), logistic())
    skl("pipeline-robust", robust, two, calm)
    for norm in ("l1", "l2", "max"):
        model = make_pipeline(preprocessing.Normalizer(norm), linear_model.Ridge())
        # ONNX takes the largest number, scikit-learn the largest magnitude.
        skl(f"pipeline-{norm}", model, same, calm, is_same=norm != "max")
    doubles = make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge())
    skl("pipeline-doubles", doubles, same, calm, doubles=True)
    powers = make_pipeline(preprocessing.PolynomialFeatures(), linear_model.Ridge())
    skl("pipeline-powers", powers, same, [0.0, 3.0])
    parts = ColumnTransformer(
        [
            ("scaled", preprocessing.StandardScaler(), [0, 2]),
            ("kept", "passthrough", [1]),
            ("ranged", preprocessing.MinMaxScaler(), [3]),
        ]
    )
    skl("pipeline-parts", make_pipeline(parts, logistic()), two, calm)
    columns = [(f"c{index}", FloatTensorType([None, 1])) for index in range(FEATURES - 1)]
    whole = [*columns, ("whole", Int64TensorType([None, 1]))]
    forest = make_pipeline(parts, ensemble.RandomForestClassifier(3, max_depth=3))
    skl("pipeline-columns", forest, two, [0.0, 3.0], types=columns + [("c4", columns[0][1])])
    skl("pipeline-mixed", make_pipeline(parts, linear_model.Ridge()), same, [2.0], types=whole)
    calibrated = CalibratedClassifierCV(logistic(), cv=2)
    skl("calibrated", calibrated, two, [0.0, 3.0])


def trees_of_sklearn(make: Maker) -> None:
    skl, two, three, count = make.sklearn, classes(2), classes(3), make.options.trees
    names = classes(3, "low middle high")
    small = {"max_depth": 4, "random_state": 1}
    skl("tree-two", tree.DecisionTreeClassifier(**small), two)
    skl("tree-three", tree.DecisionTreeClassifier(**small), three)
    skl("tree", tree.DecisionTreeRegressor(**small), same)
    for name, kind in (
        ("forest", ensemble.RandomForestClassifier),
        ("extra", ensemble.ExtraTreesClassifier),
    ):
        skl(f"{name}-two", kind(count, **small), two)
        skl(f"{name}-three", kind(count, **small), names)
    # ONNX Runtime takes no other trees of doubles: it gives floats where the export says doubles.
    skl("forest-doubles", ensemble.RandomForestClassifier(count, **small), two, doubles=True)
    forest = ensemble.RandomForestRegressor
    skl("forest", forest(count, **small), same)
    skl("forest-pair", forest(count, **small), pair)
    skl("extra", ensemble.ExtraTreesRegressor(count, **small), same)
    skl("forest-deep", forest(2, random_state=1), same)
    boosting = {"n_estimators": count, "max_depth": 3, "random_state": 1}
    skl("boosting", ensemble.GradientBoostingRegressor(**boosting), same)
    skl("boosting-two", ensemble.GradientBoostingClassifier(**boosting), two)
    skl("boosting-three", ensemble.GradientBoostingClassifier(**boosting), three)
    hist = {"max_iter": count, "max_leaf_nodes": 8, "random_state": 1}
    wild, odd = {"missing": True}, HUGE + ODD
    # scikit-learn's limits are doubles here, those of the export floats.
    for part, own in (("", {"is_same": False}), ("-calm", {"limits": False})):
        own |= wild
        skl(f"hist{part}", ensemble.HistGradientBoostingRegressor(**hist), same, odd, **own)
        classifier = ensemble.HistGradientBoostingClassifier(**hist)
        skl(f"hist-two{part}", classifier, two, odd, **own)
        skl(f"hist-three{part}", classifier, three, odd, **own)
    skl("ada", ensemble.AdaBoostClassifier(n_estimators=3, random_state=1), two)


def networks(make: Maker) -> None:
    skl, calm = make.sklearn, [0.0, 3.0, -3.0]
    small = {"hidden_layer_sizes": (7, 20), "max_iter": 60, "random_state": 1}
    skl("network", neural_network.MLPRegressor(**small), same, calm)
    skl("network-tanh", neural_network.MLPRegressor(activation="tanh", **small), same, calm)
    skl("network-two", neural_network.MLPClassifier(**small), classes(2), calm)
    logistic = neural_network.MLPClassifier(activation="logistic", **small)
    skl("network-names", logistic, classes(3, "low middle high"), calm)
    skl("network-doubles", neural_network.MLPRegressor(**small), same, calm, doubles=True)


def boosters(make: Maker) -> None:
    """LightGBM and XGBoost by onnxmltools, which exports floats."""
    x, count = make.train_rows(True), make.options.trees
    y = make.target(x)
    types = [("x", MltoolsFloats([None, FEATURES]))]
    small = {"n_estimators": count, "num_leaves": 6, "verbose": -1, "n_jobs": 1}
    for name, kind, label in (
        ("lightgbm", lgb.LGBMRegressor, same),
        ("lightgbm-two", lgb.LGBMClassifier, classes(2)),
        ("lightgbm-three", lgb.LGBMClassifier, classes(3)),
    ):
        model = kind(**small).fit(x, label(y))
        exported = convert_lightgbm(model, initial_types=types, target_opset=15)
        make.write(name, exported, make.rows(exported, HUGE + ODD))
    small = {"n_estimators": count, "max_depth": 3, "n_jobs": 1}
    for name, kind, label in (
        ("xgboost", xgb.XGBRegressor, same),
        ("xgboost-two", xgb.XGBClassifier, classes(2)),
        ("xgboost-three", xgb.XGBClassifier, classes(3)),
    ):
        model = kind(**small).fit(x, label(y))
        exported = convert_xgboost(model, initial_types=types, target_opset=15)
        make.write(name, exported, make.rows(exported, [*HUGE, np.nan]))


def made_by_hand(make: Maker) -> None:
    """Trees that no library above exports: every comparison, aggregate and transform."""
    wild = [*ODD, 0.0, 1.0, 2.0, -1.0]
    modes = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]
    rows = make.rng.choice(np.array([*wild, 0.5, 1.5], np.float32), (make.options.rows, 2))
    for missing in (0, 1):
        nodes = ensemble_of([[f"BRANCH_{mode}" for mode in modes]] * 2, missing)
        leaves = leaves_of(nodes, 2, lambda tree, leaf, target: [leaf + tree, -leaf][target])
        regressor = {**nodes, **named("target", leaves), "n_targets": 2}
        for name in ("SUM", "AVERAGE", "MIN", "MAX"):
            own = {"aggregate_function": name, "base_values": [0.25, -0.5]}
            make_one(make, f"hand-{name.lower()}-{missing}", "Regressor", regressor | own, rows)
    for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"):
        short = transform.lower().replace("_", "-")
        nodes = ensemble_of([["BRANCH_LEQ"], ["BRANCH_LT"]], 0)
        own = {"post_transform": transform}
        leaves = leaves_of(nodes, 3, lambda tree, leaf, target: (leaf + target * tree) * 0.15)
        some = [leaf for leaf in leaves if leaf[2] != 1 or leaf[0] == 0]
        many = {**nodes, **named("target", leaves), "n_targets": 3}
        make_one(make, f"hand-{short}", "Regressor", many | own, rows)
        one = [leaf for leaf in leaves if leaf[2] == 0]
        alone = {**nodes, **named("target", one), "n_targets": 1}
        make_one(make, f"hand-{short}-one", "Regressor", alone | own, rows)
        voters = {**nodes, **named("class", some), "classlabels_int64s": [4, 5, 6]}
        make_one(make, f"hand-{short}-classes", "Classifier", voters | own, rows)
        if transform == "PROBIT":
            continue  # ONNX Runtime leaves the second score of two as it was in memory.
        for base in ([], [0.1], [0.1, 0.2]):
            for voted, sign in (("0", 1), ("0", -1), ("1", 1), ("1", -1), ("01", 1), ("0+", -1)):
                chosen = [
                    (tree, node, target, sign * weight)
                    for tree, node, target, weight in leaves
                    if str(target) in voted or (voted == "0+" and target == 1 and node == 1)
                ]
                if voted == "0+" and len(base) == 1:
                    continue  # Here too.
                # Where both have votes, ONNX Runtime answers 0 and 1 whatever the labels are.
                labels = [7, 9] if len(voted) == 1 else [0, 1]
                two = {**nodes, **named("class", chosen), "classlabels_int64s": labels}
                own = {"post_transform": transform} | ({"base_values": base} if base else {})
                name = f"hand-{short}-{len(base)}-{voted}{'n' if sign < 0 else ''}"
                make_one(make, name, "Classifier", two | own, rows)


def ensemble_of(trees: list[list[str]], missing: int) -> dict[str, list]:
    """Chains of splits, each with a leaf where the test holds."""
    nodes: dict[str, list] = {}
    add = lambda key, value: nodes.setdefault(f"nodes_{key}", []).append(value)  # noqa: E731
    for index, chain in enumerate(trees):
        for at, mode in enumerate([*chain, "LEAF"]):
            own = [mode] if mode == "LEAF" else [mode, "LEAF"]
            for step, kind in enumerate(own):
                number = 2 * at + step
                is_leaf = kind == "LEAF"
                add("treeids", index)
                add("nodeids", number)
                add("featureids", 0 if is_leaf else (at + index) % 2)
                add("modes", kind)
                add("values", 0.0 if is_leaf else [1.0, 0.0, 1.5, 2.0, 0.5, 1.0][at])
                add("truenodeids", 0 if is_leaf else number + 1)
                add("falsenodeids", 0 if is_leaf else number + 2)
                add("missing_value_tracks_true", 0 if is_leaf else missing)
    return nodes


def leaves_of(nodes: dict[str, list], targets: int, value: Callable) -> list[tuple]:
    leaves, columns = [], ("treeids", "nodeids", "modes")
    for tree_id, number, mode in zip(*(nodes[f"nodes_{key}"] for key in columns), strict=True):
        if mode == "LEAF":
            for target in range(targets):
                leaves.append((tree_id, number, target, float(value(tree_id, number, target))))
    return leaves


def named(prefix: str, leaves: list[tuple]) -> dict[str, list]:
    names = ("treeids", "nodeids", "ids", "weights")
    columns = list(map(list, zip(*leaves, strict=True)))
    return {f"{prefix}_{name}": column for name, column in zip(names, columns, strict=True)}


def make_one(make: Maker, name: str, kind: str, attributes: dict, rows: np.ndarray) -> None:
    is_classifier = kind == "Classifier"
    names = ["label", "scores"] if is_classifier else ["scores"]
    domain = "ai.onnx.ml"
    node = helper.make_node(f"TreeEnsemble{kind}", ["x"], names, domain=domain, **attributes)
    kinds = [onnx.TensorProto.INT64] * is_classifier + [onnx.TensorProto.FLOAT]
    outputs = [
        helper.make_tensor_value_info(name, kind, None)
        for name, kind in zip(names, kinds, strict=True)
    ]
    floats = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 2])
    graph = helper.make_graph([node], "trees", [floats], outputs)
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid(domain, 1)]
    make.write(name, helper.make_model(graph, opset_imports=opsets, ir_version=8), rows)


# By operator: the nodes that make `y` of a table `x` of three columns, in ONNX's textual syntax.
ALONE = {
    "And": "l = Less(x, one) g = Greater(x, zero) b = And(l, g) y = Cast <to = 1> (b)",
    "ArgMin": "a = ArgMin <axis = 1> (x) y = Cast <to = 1> (a)",
    "Binarizer": "y = ai.onnx.ml.Binarizer <threshold = 0.5> (x)",
    "Ceil": "y = Ceil(x)",
    "Dropout": "y = Dropout(x)",
    "Flatten": "y = Flatten <axis = 1> (x)",
    "Floor": "y = Floor(x)",
    "Gather": "y = Gather <axis = 1> (x, places)",
    "Gemm": "y = Gemm <alpha = 0.5, beta = 2.0, transB = 1> (x, table, pair)",
    "Greater": "b = Greater(x, one) y = Cast <to = 1> (b)",
    "GreaterOrEqual": "b = GreaterOrEqual(x, one) y = Cast <to = 1> (b)",
    "IsNaN": "b = IsNaN(x) y = Cast <to = 1> (b)",
    "Less": "b = Less(x, one) y = Cast <to = 1> (b)",
    "LessOrEqual": "b = LessOrEqual(x, one) y = Cast <to = 1> (b)",
    "Log": "y = Log(x)",
    "LogSoftmax": "y = LogSoftmax <axis = 1> (x)",
    "Max": "y = Max(x, row, zero)",
    "Min": "y = Min(x, row, one)",
    "Mod": "y = Mod <fmod = 1> (x, row)",
    "Neg": "y = Neg(x)",
    "Or": "l = Less(x, zero) g = Greater(x, one) b = Or(l, g) y = Cast <to = 1> (b)",
    "Pow": "y = Pow(x, row)",
    "ReduceL1": "y = ReduceL1 <axes = [1]> (x)",
    "ReduceL2": "y = ReduceL2 <axes = [1], keepdims = 0> (x)",
    "ReduceMax": "y = ReduceMax <axes = [-1]> (x)",
    "ReduceMean": "y = ReduceMean <axes = [1]> (x)",
    "ReduceMin": "y = ReduceMin <axes = [1]> (x)",
    "ReduceSumSquare": "y = ReduceSumSquare <axes = [1]> (x)",
    "Round": "y = Round(x)",
    "Sign": "y = Sign(x)",
    "Softplus": "y = Softplus(x)",
    "Sqrt": "y = Sqrt(x)",
    "Squeeze": "u = Unsqueeze(x, last) y = Squeeze(u, last)",
    "Transpose": "t = Transpose(x) y = Transpose <perm = [1, 0]> (t)",
    "Unsqueeze": "u = Unsqueeze(x, last) y = Flatten(u)",
    "Xor": "l = Less(x, one) g = Greater(x, zero) b = Xor(l, g) y = Cast <to = 1> (b)",
}


# Integers that doubles or 32 bits do not hold.
LARGE = """i = Cast <to = 7> (x)
    large = Constant
        <value = int64[3] {9007199254740993, -9007199254740993, 1152921573326323713}> ()
    s = Add(i, large) """
ONE_SUM = "coefficients = [1.0, -0.5, 0.25], intercepts = [0.1], classlabels_ints = [3, 5]"

# By name: the version of the operators, what `y` is made of, and the nodes that make it of `x`.
VERSIONS = {
    "clip-7": (7, "float", "y = Clip <min = -1.0> (x)"),
    "clip-13": (13, "float", "z = Constant <value_float = -1.0> () y = Clip(x, z)"),
    "dropout-7": (7, "float", "d, m = Dropout <ratio = 0.25> (x) y = Add(d, m)"),
    "dropout-10": (10, "float", "d, m = Dropout(x) f = Cast <to = 1> (m) y = Add(d, f)"),
    "dropout-13": (13, "float", "d, m = Dropout(x) f = Cast <to = 1> (m) y = Add(d, f)"),
    "integers-signs": (
        15,
        "int64",
        LARGE + "n = Neg(s) a = Abs(s) g = Sign(s) y = Concat <axis = 1> (n, a, g)",
    ),
    "integers-casts": (
        15,
        "int64",
        LARGE
        + """a = Cast <to = 6> (s) b = Cast <to = 7> (a) c = Cast <to = 1> (s)
        d = Cast <to = 7> (c) y = Concat <axis = 1> (b, d)""",
    ),
    "integers-powers": (
        15,
        "int64",
        LARGE + "two = Constant <value_int = 2> () y = Pow(s, two)",
    ),
    "integers-reduced": (
        15,
        "int64",
        LARGE
        + """a = ReduceMax <axes = [1]> (s) b = ReduceMin <axes = [1]> (s)
        c = ReduceMean <axes = [1]> (i) d = ReduceL2 <axes = [1]> (i)
        y = Concat <axis = 1> (a, b, c, d)""",
    ),
    "integers-remainders": (
        15,
        "int64",
        LARGE
        + """by = Constant <value = int64[3] {7, -7, -10}> ()
        a = Mod(s, by) b = Mod <fmod = 0> (i, by) c = Mod <fmod = 1> (i, by)
        y = Concat <axis = 1> (a, b, c)""",
    ),
    "one-sum-none": (15, "float", f"l, y = ai.onnx.ml.LinearClassifier <{ONE_SUM}> (x)"),
    "one-sum-logistic": (
        15,
        "float",
        f"""l, y = ai.onnx.ml.LinearClassifier <{ONE_SUM}, post_transform = "LOGISTIC"> (x)""",
    ),
    "remainders-doubles": (
        13,
        "float",
        """d = Cast <to = 11> (x) by = Constant <value = double[3] {0.1, -0.3, 2.0}> ()
        r = Mod <fmod = 1> (d, by) y = Cast <to = 1> (r)""",
    ),
    "reshape-zero": (
        15,
        "float",
        """none = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> ()
        wanted = Constant <value_ints = [0, 3]> () e = Slice(x, none, none, one)
        r = Reshape <allowzero = 1> (e, wanted) y = Concat <axis = 0> (x, r)""",
    ),
    "shape-part": (
        15,
        "float",
        """last = Constant <value_ints = [2]> () u = Unsqueeze(x, last)
        a = Shape <start = 1, end = -1> (u) b = Shape <start = -2, end = 9> (u)
        c = Concat <axis = 0> (a, b) f = Cast <to = 1> (c) y = Mul(x, f)""",
    ),
}


def operators_alone(make: Maker) -> None:
    """Operators that no model above holds, and versions of them that differ."""
    head = '<ir_version: 8, opset_import: ["": 15, "ai.onnx.ml": 1]>'
    constants = """zero = Constant <value_float = 0.0> ()
        one = Constant <value_float = 1.0> ()
        row = Constant <value = float[3] {0.5, -1.0, 2.0}> ()
        pair = Constant <value = float[2] {-1.0, 0.5}> ()
        table = Constant <value = float[2,3] {1.0, 2.0, 3.0, -0.5, 0.25, 0.0}> ()
        places = Constant <value = int64[2] {2, -3}> ()
        last = Constant <value = int64[1] {2}> ()"""
    wild = [*ODD, 0.0, -0.0, 0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 40.0]
    rows = make.rng.choice(np.array(wild, np.float32), (make.options.rows, 3))
    for name, nodes in ALONE.items():
        graph = f"alone (float[n,3] x) => (float[n,m] y) {{ {constants} {nodes} }}"
        model = onnx.parser.parse_model(f"{head} {graph}")
        model.graph.output[0].type.tensor_type.ClearField("shape")
        # ONNX Runtime refuses NaN here, or takes it for what stands beside it.
        has_nan = name not in ("Binarizer", "ReduceMax", "ReduceMin")
        own = rows if has_nan else np.nan_to_num(rows)
        make.write(f"operator-{name.lower()}", model, own)
    for name, (version, kind, nodes) in VERSIONS.items():
        head = f'<ir_version: 8, opset_import: ["": {version}, "ai.onnx.ml": 1]>'
        model = onnx.parser.parse_model(f"{head} g (float[n,3] x) => ({kind}[n,m] y) {{ {nodes} }}")
        model.graph.output[0].type.tensor_type.ClearField("shape")
        # An integer of NaN or of an infinity is whatever the machine makes of it.
        own = np.clip(np.nan_to_num(rows), -50, 50) if kind == "int64" else rows
        make.write(f"version-{name}", model, own)


def vector_machines(make: Maker) -> None:
    skl, two, calm = make.sklearn, classes(2), [0.0, 2.0, -2.0]
    names = classes(3, "low middle high")
    no_map = {"zipmap": False}
    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        skl(f"svc-{kernel}-two", svm.SVC(kernel=kernel), two, calm)
        skl(f"svc-{kernel}-names", svm.SVC(kernel=kernel), names, calm)
        skl(f"svr-{kernel}", svm.SVR(kernel=kernel), same, calm)
    for name, label in (("two", two), ("names", names)):
        likely = svm.SVC(probability=True, random_state=1)
        # LIBSVM computes in doubles, and ends its loop elsewhere.
        skl(f"svc-likely-{name}", likely, label, calm, options=no_map, is_same=False)
    skl("svc-doubles", svm.SVC(), classes(3), calm, doubles=True, options=no_map)
    skl("svc-nu", svm.NuSVC(), classes(3), calm)
    skl("svr-nu", svm.NuSVR(), same, calm)
    skl("svm-one-class", svm.OneClassSVM(), same, calm, is_same=False)


def neighbours_and_likelihoods(make: Maker) -> None:
    skl, two, three, calm = make.sklearn, classes(2), classes(3), [0.0, 3.0, -3.0]
    names, wide = classes(3, "low middle high"), {"doubles": True}
    near = neighbors.KNeighborsClassifier
    skl("near-two", near(), two, calm)
    skl("near-names", near(3), names, calm)
    skl("near-manhattan", near(metric="manhattan"), three, calm)
    skl("near-minkowski", near(p=3), three, calm)
    skl("near-doubles", near(), three, calm, options={"zipmap": False}, **wide)
    own = {"optim": "cdist", "zipmap": False}
    skl("near-microsoft", near(), three, calm, options=own)
    skl("near", neighbors.KNeighborsRegressor(), same, calm)
    weighed = neighbors.KNeighborsRegressor(weights="distance")
    # The export weighs a row that is a neighbour itself differently.
    skl("near-weighed", weighed, same, calm, is_same=False)
    skl("near-outliers", neighbors.LocalOutlierFactor(novelty=True), same, calm, is_same=False)
    process = gaussian_process.GaussianProcessRegressor(alpha=0.5)
    skl("process-doubles", process, same, calm, **wide)
    skl("bayes-gauss", naive_bayes.GaussianNB(), names, calm)
    skl("bayes-bernoulli", naive_bayes.BernoulliNB(), three, calm)
    skl("mixture", mixture.GaussianMixture(2, random_state=1), same, calm, is_same=False)
    pairs = multiclass.OneVsOneClassifier(linear_model.LogisticRegression())
    skl("one-by-one", pairs, three, calm)
    quantiles = preprocessing.QuantileTransformer(n_quantiles=20)
    skl("quantiles", make_pipeline(quantiles, linear_model.Ridge()), same, calm)


def categories(make: Maker) -> None:
    """Models of columns of texts beside columns of numbers, as data frames have them."""
    rng, count = make.rng, make.options.rows
    towns, sexes = ["Cork", "Queenstown", "Southampton"], ["female", "male"]

    def passengers(number: int, more: list[str]) -> np.ndarray:
        ages = rng.uniform(1, 80, (number, 2)).astype(np.float32)
        names = [rng.choice([*kinds, *more], (number, 1)) for kinds in (sexes, towns)]
        return np.hstack([ages.astype(object), *(name.astype(object) for name in names)])

    train = passengers(200, [])
    survived = (train[:, 2] == "female") ^ (train[:, 3] == "Cork") ^ (train[:, 0] < 20)
    floats, texts = FloatTensorType([None, 1]), StringTensorType([None, 1])
    types = [("age", floats), ("fare", floats), ("sex", texts), ("town", texts)]
    ignore = preprocessing.OneHotEncoder(handle_unknown="ignore")
    for name, encoder, model, more in (
        ("one-hot", ignore, linear_model.LogisticRegression(), ["Paris"]),
        ("one-hot-strict", preprocessing.OneHotEncoder(), tree.DecisionTreeClassifier(), []),
        (
            "ordinal",
            preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            ensemble.RandomForestClassifier(make.options.trees, max_depth=4, random_state=1),
            ["Paris"],
        ),
        (
            "target",
            preprocessing.TargetEncoder(random_state=1),
            linear_model.LogisticRegression(),
            ["Paris"],
        ),
    ):
        columns = [("numbers", preprocessing.MinMaxScaler(), [0, 1]), ("texts", encoder, [2, 3])]
        pipeline = make_pipeline(ColumnTransformer(columns), model).fit(train, survived)
        exported = to_onnx(pipeline, initial_types=types)
        rows = passengers(count, more)
        # The export keeps the means of a target encoder as floats.
        theirs = None if name == "target" else pipeline.predict_proba(rows)
        make.write(f"texts-{name}", exported, rows, theirs)
    numbers = rng.integers(0, 4, (200, 2))
    types = [("x", Int64TensorType([None, 2]))]
    for name, encoder in (("one-hot", ignore), ("ordinal", preprocessing.OrdinalEncoder())):
        pipeline = make_pipeline(encoder, linear_model.LogisticRegression())
        pipeline.fit(numbers, numbers.sum(1) > 3)
        rows = rng.integers(0, 5 if name == "one-hot" else 4, (count, 2))
        exported = to_onnx(pipeline, initial_types=types)
        make.write(f"integers-{name}", exported, rows, pipeline.predict_proba(rows))


KERNEL = "kernel_params = [0.3, 0.0, 3.0]"
TABLE = f"coefficients = [1.0, -0.5, 0.25, -1.0, 0.5, 0.75], rho = [0.1], {KERNEL}"
PAIR = f"""coefficients = [0.5, -1.0], rho = [0.25],
    support_vectors = [1.0, 0.0, 2.0, 0.5, 1.5, -1.0], vectors_per_class = [1, 1],
    kernel_type = "RBF", {KERNEL}, classlabels_ints = [4, 6]"""
LABELS = """keys_int64s = [1, 2, 1, 0], values_floats = [0.5, -2.0, 9.0, 4.0]"""

# By name: the version of ONNX-ML's operators, and the nodes that make `y` of `x`.
CLASSICAL = {
    "svm-linear-labels": (
        1,
        f"""l, s = ai.onnx.ml.SVMClassifier <{TABLE}, classlabels_ints = [3, 5]> (x)
        y = Cast <to = 1> (l)""",
    ),
    "svm-linear-scores": (
        1,
        f"l, y = ai.onnx.ml.SVMClassifier <{TABLE}, classlabels_ints = [3, 5]> (x)",
    ),
    "svm-linear-logistic": (
        1,
        f"""l, y = ai.onnx.ml.SVMClassifier
        <{TABLE}, classlabels_ints = [3, 5], post_transform = "LOGISTIC"> (x)""",
    ),
    "svm-linear-regressor": (
        1,
        f"""y = ai.onnx.ml.SVMRegressor
        <coefficients = [1.0, -0.5, 0.25], rho = [0.1], {KERNEL}> (x)""",
    ),
    "svm-pair-none": (1, f"l, y = ai.onnx.ml.SVMClassifier <{PAIR}> (x)"),
    "svm-pair-softmax": (
        1,
        f"""l, y = ai.onnx.ml.SVMClassifier <{PAIR}, post_transform = "SOFTMAX"> (x)""",
    ),
    "labels-floats-2": (
        2,
        f"i = Cast <to = 7> (x) y = ai.onnx.ml.LabelEncoder <{LABELS}, default_float = 7.5> (i)",
    ),
    "labels-floats-4": (
        4,
        f"i = Cast <to = 7> (x) y = ai.onnx.ml.LabelEncoder <{LABELS}> (i)",
    ),
    "labels-keys-2": (
        2,
        """i = ai.onnx.ml.LabelEncoder
        <keys_floats = [0.0, 1.0, 2.5], values_int64s = [5, 6, 7]> (x) y = Cast <to = 1> (i)""",
    ),
    "labels-tensors-4": (
        4,
        """d = Cast <to = 11> (x) e = ai.onnx.ml.LabelEncoder <keys_tensor = double[3]
        {0.0, 1.0, 2.5}, values_tensor = double[3] {-1.0, -2.0, -3.0},
        default_tensor = double[1] {0.25}> (d) y = Cast <to = 1> (e)""",
    ),
    "labels-texts-2": (
        2,
        """i = Cast <to = 7> (x)
        t = ai.onnx.ml.LabelEncoder <keys_int64s = [0, 1], values_strings = ["no", "yes"]> (i)
        y = ai.onnx.ml.LabelEncoder
        <keys_strings = ["yes", "_Unused"], values_floats = [1.0, 2.0]> (t)""",
    ),
    "labels-places-1": (
        1,
        """i = Cast <to = 7> (x) t = ai.onnx.ml.LabelEncoder
        <classes_strings = ["a", "b", "c"], default_string = "d"> (i)
        n = ai.onnx.ml.LabelEncoder
        <classes_strings = ["c", "d"], default_int64 = 9> (t) y = Cast <to = 1> (n)""",
    ),
    "one-hot-floats": (
        1,
        "h = ai.onnx.ml.OneHotEncoder <cats_int64s = [0, 1, -2]> (x) y = Flatten(h)",
    ),
    "top-least": (
        1,
        """two = Constant <value_ints = [2]> () v, i = TopK <largest = 0> (x, two)
        f = Cast <to = 1> (i) y = Concat <axis = 1> (v, f)""",
    ),
    "top-most": (
        1,
        """two = Constant <value_ints = [2]> () v, i = TopK(x, two)
        f = Cast <to = 1> (i) y = Concat <axis = 1> (v, f)""",
    ),
    "sums": (
        1,
        """one = Constant <value_int = 1> () a = CumSum(x, one)
        b = CumSum <exclusive = 1, reverse = 1> (x, one) y = Concat <axis = 1> (a, b)""",
    ),
    "logs": (
        1,
        """a = ReduceLogSumExp <axes = [1]> (x) s = Abs(x) b = ReduceLogSum <axes = [1]> (s)
        y = Concat <axis = 1> (a, b)""",
    ),
    "reshape-computed": (
        1,
        """s = Shape(x) y = Reshape(x, s)""",
    ),
}


def classical_alone(make: Maker) -> None:
    """Operators of ONNX-ML and others that came with them, in versions that differ."""
    wild = [0.0, -0.0, 0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0]
    rows = make.rng.choice(np.array(wild, np.float32), (make.options.rows, 3))
    for name, (version, nodes) in CLASSICAL.items():
        head = f'<ir_version: 8, opset_import: ["": 15, "ai.onnx.ml": {version}]>'
        model = onnx.parser.parse_model(f"{head} g (float[n,3] x) => (float[n,m] y) {{ {nodes} }}")
        model.graph.output[0].type.tensor_type.ClearField("shape")
        make.write(f"classical-{name}", model, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int, default=13)
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--only", default="", help="how names of models begin that are written")
    maker = Maker(parser.parse_args())
    warnings.simplefilter("ignore")
    linear_models(maker)
    pipelines(maker)
    trees_of_sklearn(maker)
    networks(maker)
    boosters(maker)
    made_by_hand(maker)
    operators_alone(maker)
    vector_machines(maker)
    neighbours_and_likelihoods(maker)
    categories(maker)
    classical_alone(maker)
