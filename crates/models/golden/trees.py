"""Trains trees of every kind and writes models, rows, margins and scores of LightGBM and XGBoost.

For each model a file `NAME.txt`, `NAME.json` or `NAME.ubj`, and beside it `NAME.rows`: per line a
row, its margins and its scores, parted by `|`. Rows hold what trained models may meet: NaN,
infinities, zeros of both signs, nearly zeros, limits of splits and their neighbours, categories
that are unseen, negative, broken or huge.

Run from the root of the repository, for the small ones that the tests read:
    pip install lightgbm==4.7.0 xgboost-cpu==3.2.0 numpy
    python3 crates/models/golden/trees.py crates/models/golden/trees
and for more and larger ones, with `cargo run --release -p models --example parity -- FOLDER`:
    python3 crates/models/golden/trees.py FOLDER --rows 5000 --rounds 60 --leaves 31
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import lightgbm as lgb
import numpy as np
import xgboost as xgb

NUMBERS = 5
"""Numerical features; two categorical ones follow."""
CATEGORIES = [6, 40]
FEATURES = NUMBERS + len(CATEGORIES)
EDGES = [np.nan, 0.0, -0.0, 1e-36, -1e-36, 1.0000000180025095e-35, 2e-35, 1e300, -1e300, 1e-45]
INFINITIES = [np.inf, -np.inf]
ODD_CATEGORIES = [np.nan, -1, -0.5, 0.5, 3.7, 6, 31, 32, 39.99, 40, 64, 1e6, 2**24 - 1, 2**24, 3e9]


class Maker:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rng = np.random.default_rng(7)
        self.folder = Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def train_rows(self, missing: bool) -> np.ndarray:
        rng, count = self.rng, 400 if self.options.rows < 1000 else 4000
        x = rng.normal(size=(count, FEATURES))
        x[:, 1] = np.round(x[:, 1] * 4) / 4
        x[:, 2] = np.where(rng.random(count) < 0.4, 0.0, x[:, 2])
        x[:, 3] = np.exp(3 * x[:, 3])
        for index, categories in enumerate(CATEGORIES):
            x[:, NUMBERS + index] = rng.integers(0, categories, count)
        if missing:
            x[rng.random(x.shape) < 0.1] = np.nan
        return x

    def target(self, x: np.ndarray) -> np.ndarray:
        x = np.nan_to_num(x)
        noise = self.rng.normal(size=len(x)) * 0.1
        kinds = np.sin(x[:, 5]) + np.cos(x[:, 6] * 1.7)
        return x[:, 0] * x[:, 1] + np.abs(x[:, 2]) + np.log1p(x[:, 3]) + kinds + noise

    def rows(self, limits: dict[int, list[float]], infinities: bool) -> np.ndarray:
        rng, count = self.rng, self.options.rows
        x = self.train_rows(True)[rng.integers(0, 400, count)]
        x[:, :NUMBERS] += rng.normal(size=(count, NUMBERS)) * 0.01
        edges = EDGES + (INFINITIES if infinities else [])
        for feature in range(FEATURES):
            pool = list(edges if feature < NUMBERS else ODD_CATEGORIES)
            for limit in limits.get(feature, []):
                for near in (np.float64(limit), np.float32(limit)):
                    pool += [near, np.nextafter(near, near.dtype.type(-np.inf))]
                    pool += [np.nextafter(near, near.dtype.type(np.inf))]
            wild = rng.random(count) < 0.35
            x[wild, feature] = rng.choice(np.array(pool, dtype=np.float64), wild.sum())
        return x

    def write(self, name: str, rows: np.ndarray, margins: np.ndarray, scores: np.ndarray) -> None:
        count = len(rows)
        with (self.folder / name).with_suffix(".rows").open("w") as file:
            columns = (rows, margins.reshape(count, -1), scores.reshape(count, -1))
            for parts in zip(*columns, strict=True):
                line = (" ".join(repr(float(x)) for x in part) for part in parts)
                file.write(" | ".join(line) + "\n")

    def lightgbm(self, name: str, label: Callable, missing: bool = True, **params) -> None:
        categorical = params.pop("categorical", True)
        zero = params.get("zero_as_missing", False)
        x = self.train_rows(missing or zero)
        y = label(self.target(x))
        data = lgb.Dataset(
            x,
            y,
            categorical_feature=[NUMBERS, NUMBERS + 1] if categorical else [],
            group=[len(x) // 40] * 40 if "rank" in str(params.get("objective")) else None,
        )
        options = {
            "num_leaves": self.options.leaves,
            "min_data_in_leaf": 3,
            "learning_rate": 0.2,
            "num_threads": 1,
            "seed": 3,
            "verbosity": -1,
            "deterministic": True,
            "min_data_per_group": 5,
            "cat_smooth": 1,
            "max_cat_to_onehot": 4,
        }
        if params.get("linear_tree"):
            data.params = {"linear_tree": True}
        rounds = params.pop("rounds", self.options.rounds)
        booster = lgb.train(options | params, data, rounds)
        path = self.folder / f"{name}.txt"
        booster.save_model(path)
        booster = lgb.Booster(model_file=path)
        if self.options.rows < 100:
            path.write_text(path.read_text().partition("\nparameters:")[0])
        # Infinities in a linear function give NaN of either sign.
        rows = self.rows(lightgbm_limits(path), not params.get("linear_tree", False))
        margins = booster.predict(rows, raw_score=True, num_threads=1)
        self.write(name, rows, margins, booster.predict(rows, num_threads=1))

    def xgboost(self, name: str, label: Callable, missing: bool = True, **params) -> None:
        kind = params.pop("kind", "json")
        categorical = params.pop("categorical", True)
        group = params.pop("group", None)
        types = ["float"] * NUMBERS + (["c"] * 2 if categorical else ["float"] * 2)
        x = self.train_rows(missing).astype(np.float32)
        y = label(self.target(x))
        bounds = params.pop("bounds", None)
        data = xgb.DMatrix(
            x,
            None if bounds else y,
            feature_types=types,
            group=[len(x) // 40] * 40 if group else None,
            label_lower_bound=y if bounds else None,
            label_upper_bound=y + 1 if bounds else None,
            enable_categorical=True,
        )
        options = {
            "max_leaves": self.options.leaves,
            "max_depth": params.pop("max_depth", 6),
            "grow_policy": "lossguide",
            "eta": 0.3,
            "nthread": 1,
            "seed": 3,
            "min_child_weight": 0.1,
        }
        rounds = params.pop("rounds", self.options.rounds)
        stop = params.pop("stop", False)
        # At some iteration, what is learnt makes scores on labels of which half are wrong worse.
        wrong = np.array(y)
        wrong[::2] = wrong[::2][::-1]
        other = xgb.DMatrix(x, wrong, feature_types=types, enable_categorical=True)
        booster = xgb.train(
            options | params,
            data,
            rounds,
            evals=[(other, "other")] if stop else [],
            early_stopping_rounds=rounds if stop else None,
            verbose_eval=False,
        )
        path = self.folder / f"{name}.{kind}"
        booster.save_model(path)
        booster = xgb.Booster(model_file=path)
        booster.set_param({"nthread": 1})
        # XGBoost takes no infinity in a DMatrix, nor a category that is not one.
        rows = self.rows(xgboost_limits(booster), False)
        rows[np.abs(rows) > 3e38] = 1e30
        if categorical:
            kinds = rows[:, NUMBERS:]
            kinds[(kinds < 0) | (kinds >= 16777216)] = 50
        data = xgb.DMatrix(rows.astype(np.float32), feature_types=types)
        used = (0, booster.best_iteration + 1 if stop else 0)
        margins = booster.predict(data, output_margin=True, iteration_range=used)
        self.write(name, rows, margins, booster.predict(data, iteration_range=used))


def lightgbm_limits(path: Path) -> dict[int, list[float]]:
    limits: dict[int, list[float]] = {}
    features: list[int] = []
    for line in path.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "split_feature":
            features = [int(x) for x in value.split()]
        elif key == "threshold":
            for feature, limit in zip(features, map(float, value.split()), strict=True):
                limits.setdefault(feature, []).append(limit)
    return {f: v for f, v in limits.items() if f < NUMBERS}


def xgboost_limits(booster: xgb.Booster) -> dict[int, list[float]]:
    learner = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    limits: dict[int, list[float]] = {}
    if learner["name"] == "gblinear":
        return limits
    for tree in (learner.get("gbtree") or learner)["model"]["trees"]:
        columns = (tree["split_indices"], tree["split_conditions"], tree["left_children"])
        for feature, limit, left in zip(*columns, strict=True):
            if left >= 0 and feature < NUMBERS:
                limits.setdefault(feature, []).append(limit)
    return limits


def classes(count: int) -> Callable:
    def label(y: np.ndarray) -> np.ndarray:
        return np.digitize(y, np.quantile(y, np.linspace(0, 1, count + 1)[1:-1]))

    return label


def same(y: np.ndarray) -> np.ndarray:
    return y


def positive(y: np.ndarray) -> np.ndarray:
    return np.exp(y / 3)


def share(y: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-y))


def lightgbm_models(make: Maker) -> None:
    lgbm, two = make.lightgbm, classes(2)
    lgbm("lgb-regression", same, objective="regression")
    lgbm("lgb-no-missing", same, missing=False, objective="regression")
    lgbm("lgb-sqrt", same, objective="regression", reg_sqrt=True)
    lgbm("lgb-zero-as-missing", same, objective="regression", zero_as_missing=True)
    lgbm("lgb-not-use-missing", same, objective="regression_l1", use_missing=False)
    lgbm("lgb-binary", two, objective="binary")
    lgbm("lgb-binary-sigmoid", two, objective="binary", sigmoid=0.7)
    lgbm("lgb-multiclass", classes(3), objective="multiclass", num_class=3)
    lgbm("lgb-ova", classes(3), objective="multiclassova", num_class=3, sigmoid=1.3)
    lgbm("lgb-lambdarank", classes(4), objective="lambdarank")
    lgbm("lgb-xendcg", classes(4), objective="rank_xendcg")
    lgbm("lgb-poisson", positive, objective="poisson")
    lgbm("lgb-gamma", positive, objective="gamma")
    lgbm("lgb-tweedie", positive, objective="tweedie")
    lgbm("lgb-quantile", same, objective="quantile", alpha=0.3)
    lgbm("lgb-cross-entropy", share, objective="cross_entropy")
    lgbm("lgb-cross-entropy-lambda", share, objective="cross_entropy_lambda")
    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
    lgbm("lgb-forest", same, objective="regression", **forest)
    lgbm("lgb-forest-binary", two, objective="binary", **forest)
    lgbm("lgb-dart", same, objective="regression", boosting="dart")
    lgbm("lgb-one-leaf", same, objective="regression", min_gain_to_split=1e9)
    lgbm("lgb-large", same, objective="regression", num_leaves=270, min_data_in_leaf=1, rounds=1)


def xgboost_models(make: Maker) -> None:
    boost, two = make.xgboost, classes(2)
    squared = {"objective": "reg:squarederror"}
    boost("xgb-squared", same, **squared)
    boost("xgb-squared-ubj", same, kind="ubj", **squared)
    boost("xgb-no-missing", same, missing=False, categorical=False, **squared)
    boost("xgb-exact", same, categorical=False, tree_method="exact", **squared)
    boost("xgb-one-hot", same, max_cat_to_onehot=100, **squared)
    boost("xgb-partition", same, max_cat_to_onehot=1, kind="ubj", **squared)
    boost("xgb-absolute", same, objective="reg:absoluteerror")
    boost("xgb-huber", same, objective="reg:pseudohubererror")
    boost("xgb-log", positive, objective="reg:squaredlogerror")
    quantiles = [0.1, 0.5, 0.9]
    boost("xgb-quantiles", same, objective="reg:quantileerror", quantile_alpha=quantiles)
    boost("xgb-logistic", share, objective="reg:logistic")
    boost("xgb-binary", two, objective="binary:logistic")
    boost("xgb-binary-base", two, objective="binary:logistic", base_score=0.2, kind="ubj")
    boost("xgb-logitraw", two, objective="binary:logitraw")
    boost("xgb-hinge", two, objective="binary:hinge")
    boost("xgb-softprob", classes(4), objective="multi:softprob", num_class=4)
    boost("xgb-softmax", classes(4), objective="multi:softmax", num_class=4, kind="ubj")
    boost("xgb-pairwise", classes(4), objective="rank:pairwise", group=True)
    boost("xgb-ndcg", classes(4), objective="rank:ndcg", group=True)
    boost("xgb-map", two, objective="rank:map", group=True)
    boost("xgb-poisson", positive, objective="count:poisson")
    boost("xgb-gamma", positive, objective="reg:gamma")
    boost("xgb-tweedie", positive, objective="reg:tweedie")
    boost("xgb-cox", positive, objective="survival:cox")
    boost("xgb-aft", positive, objective="survival:aft", bounds=True)
    boost("xgb-dart", same, booster="dart", rate_drop=0.3, **squared)
    dart = {"booster": "dart", "rate_drop": 0.3, "objective": "multi:softprob", "num_class": 3}
    boost("xgb-dart-classes", classes(3), kind="ubj", **dart)
    forest = {"num_parallel_tree": 3, "subsample": 0.6}
    boost("xgb-forest", classes(3), objective="multi:softprob", num_class=3, **forest)
    boost("xgb-targets", lambda y: np.stack([y, -y * y, np.abs(y)], 1), **squared)
    boost("xgb-one-leaf", same, gamma=1e9, **squared)
    stopped = {"stop": True, "rounds": 6, "eta": 0.4}
    boost("xgb-stopped", two, objective="binary:logistic", **stopped)
    boost("xgb-stopped-dart", same, booster="dart", rate_drop=0.3, **squared, **stopped)
    forest = {"num_parallel_tree": 2, "subsample": 0.6, "kind": "ubj"}
    boost(
        "xgb-stopped-forest",
        classes(3),
        **forest,
        num_class=3,
        objective="multi:softprob",
        **stopped,
    )
    if make.options.rows >= 100:
        boost("xgb-large", same, max_leaves=0, max_depth=12, rounds=2, reg_lambda=0, **squared)


def leaves_of_several_kinds(make: Maker) -> None:
    """Leaves that are vectors or linear functions, and a model without trees."""
    lgbm, boost, two = make.lightgbm, make.xgboost, classes(2)
    lgbm("lgb-linear", same, objective="regression", linear_tree=True)
    lgbm("lgb-linear-binary", two, objective="binary", linear_tree=True, categorical=False)
    lgbm("lgb-linear-classes", classes(3), objective="multiclass", num_class=3, linear_tree=True)
    vectors = {"multi_strategy": "multi_output_tree", "max_leaves": 0, "max_depth": 3}
    vectors |= {"grow_policy": "depthwise", "categorical": False}
    squared = {"objective": "reg:squarederror"}
    boost("xgb-vectors", lambda y: np.stack([y, -y * y, np.abs(y)], 1), **vectors, **squared)
    soft = {"objective": "multi:softprob", "num_class": 3, "kind": "ubj"}
    boost("xgb-vectors-classes", classes(3), **vectors, **soft)
    linear = {"booster": "gblinear", "categorical": False}
    boost("xgb-linear", two, objective="binary:logistic", **linear)
    boost("xgb-linear-classes", classes(3), **linear, **soft)
    boost("xgb-linear-targets", lambda y: np.stack([y, -y], 1), **linear, **squared)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--leaves", type=int, default=6)
    maker = Maker(parser.parse_args())
    lightgbm_models(maker)
    xgboost_models(maker)
    leaves_of_several_kinds(maker)
