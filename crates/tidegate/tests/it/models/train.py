"""Trains a model of each kind and writes what its own library predicts.

Argument: the folder for `trees.txt` (LightGBM), `boost.ubj` (XGBoost), `forest.onnx` (scikit-learn)
and `expected.npz`.
"""

import sys

import lightgbm
import numpy as np
import xgboost
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

folder = sys.argv[1]
random = np.random.default_rng(7)
rows = random.normal(size=(400, 6)).astype(np.float32).astype(np.float64)
whole = rows.copy()
rows[random.random(rows.shape) < 0.1] = np.nan
filled = np.nan_to_num(rows)
labels = (filled[:, 0] + filled[:, 1] ** 2 > 0.7).astype(int)
names = [f"f{index}" for index in range(6)]

trees = lightgbm.train(
    {"objective": "binary", "num_leaves": 15, "verbose": -1, "num_threads": 1},
    lightgbm.Dataset(rows, labels, feature_name=names),
    20,
)
trees.save_model(f"{folder}/trees.txt")

classes = labels + (filled[:, 2] > 1)
boost = xgboost.train(
    {"objective": "multi:softprob", "num_class": 3, "nthread": 1},
    xgboost.DMatrix(rows, classes),
    10,
)
boost.save_model(f"{folder}/boost.ubj")

forest = make_pipeline(StandardScaler(), RandomForestClassifier(20, max_depth=6, random_state=7))
forest.fit(whole.astype(np.float32), labels)
graph = to_onnx(forest, whole[:1].astype(np.float32), options={"zipmap": False})
with open(f"{folder}/forest.onnx", "wb") as file:
    file.write(graph.SerializeToString())

np.savez(
    f"{folder}/expected.npz",
    rows=rows,
    whole=whole,
    trees=trees.predict(rows),
    boost=boost.predict(xgboost.DMatrix(rows)),
    forest=forest.predict_proba(whole.astype(np.float32)),
)
