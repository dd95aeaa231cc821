"""Writes rankers of LightGBM, XGBoost and scikit-learn as files that Tidegate serves over items.

The file is the library's own, but for the names of its columns. By these the server knows what of
an item, a user or a request each stands for (`names.py`). scikit-learn's models become graphs in
ONNX, and their names a property of the file. Only `skl2onnx` is imported here.
"""

import json
from collections.abc import Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from tidegate.columns import ExportError
from tidegate.export import write_whole
from tidegate.names import check_names

FEATURES = "tidegate.features"
"""The property of a graph that names its columns."""


def export_ranker(
    model: Any,
    path: str | PathLike[str],
    *,
    features: Sequence[str] | None = None,
    texts: Sequence[str] = (),
) -> None:
    """Writes `model` to `path`, whole or not at all.

    `features` names each column of the training data, in their order; without it the names count
    that the model was trained with. `names.py` says what names there are. What `feature_values`
    makes of an item and a request by these names is what the server scores.

    - LightGBM: a `Booster` or an estimator (`LGBMRanker`). The file is text, up to the best
      iteration.
    - XGBoost: a `Booster` or an estimator (`XGBRanker`). The file is JSON or UBJSON, as the end of
      `path` says (`.json`, `.ubj`).
    - scikit-learn: a regressor, or a classifier of two classes, alone or at the end of a Pipeline.
      The file is ONNX; `skl2onnx` must be installed. `texts` are those of the columns that hold
      texts. A classifier scores the probability of `classes_[1]`, and one without
      `predict_proba`, such as `LinearSVC`, its `decision_function`.

    Raises `ExportError` for a model that gives more than one score, and for names that the server
    or the library does not take.
    """
    library = type(model).__module__.partition(".")[0]
    if library == "lightgbm":
        data = lightgbm_file(getattr(model, "booster_", model), features)
    elif library == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        data = xgboost_file(booster, features, Path(path).suffix)
    else:
        data = onnx_file(model, features, texts)
    write_whole(Path(path), data)


def lightgbm_file(booster: Any, features: Sequence[str] | None) -> bytes:
    """Returns the text of a booster of LightGBM with these names."""
    if booster.num_model_per_iteration() != 1:
        raise ExportError(several("LightGBM", booster.num_model_per_iteration()))
    names = named(booster.feature_name(), features, booster.num_feature(), "LightGBM")
    if any(getattr(booster, "pandas_categorical", None) or ()):
        raise ExportError(
            "export: the model was trained with categories of a data frame, whose codes no item"
            " has; train it with their codes as numbers, and put these into the items file"
        )
    head, line, rest = booster.model_to_string().partition("\nfeature_names=")
    _, _, rest = rest.partition("\n")
    return f"{head}{line}{' '.join(names)}\n{rest}".encode()


def xgboost_file(booster: Any, features: Sequence[str] | None, ending: str) -> bytes:
    """Returns the file of a booster of XGBoost with these names."""
    if ending not in (".json", ".ubj"):
        raise ExportError(f"export: `{ending}` is no ending of XGBoost's; use .json or .ubj")
    shape = json.loads(booster.save_config())["learner"]["learner_model_param"]
    outputs = max(int(shape["num_class"]), int(shape.get("num_target", 1)), 1)
    if outputs != 1:
        raise ExportError(several("XGBoost", outputs))
    copied = booster.copy()
    count = booster.num_features()
    copied.feature_names = named(booster.feature_names, features, count, "XGBoost")
    return bytes(copied.save_raw(ending[1:]))


def onnx_file(model: Any, features: Sequence[str] | None, texts: Sequence[str]) -> bytes:
    """Returns a fitted estimator of scikit-learn as a graph in ONNX."""
    if not hasattr(model, "n_features_in_"):
        raise ExportError(
            f"export `{type(model).__name__}`: it is no fitted model of LightGBM, XGBoost or"
            " scikit-learn"
        )
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) != 2:
        raise ExportError(several(type(model).__name__, len(classes)))
    own = getattr(model, "feature_names_in_", None)
    names = named(own, features, model.n_features_in_, "", texts)
    unknown = sorted(set(texts) - set(names))
    if unknown:
        raise ExportError(f"export: `{unknown[0]}` of `texts` is none of the columns")
    converter = skl2onnx()
    types = converter.common.data_types
    if own is None and not texts:
        inputs = [("input", types.FloatTensorType([None, len(names)]))]
    else:
        # A ColumnTransformer finds its columns by the names of the data frame.
        kinds = (types.FloatTensorType, types.StringTensorType)
        columns = zip(names if own is None else map(str, own), names, strict=True)
        inputs = [(column, kinds[name in texts]([None, 1])) for column, name in columns]
    try:
        graph = converted(converter, model, inputs)
    except Exception as error:  # skl2onnx has errors of many kinds, and some of ONNX's.
        raise ExportError(f"export `{type(model).__name__}`: skl2onnx: {error}") from error
    entry = graph.metadata_props.add()
    entry.key, entry.value = FEATURES, json.dumps(names)
    return bytes(graph.SerializeToString())


def converted(converter: Any, model: Any, inputs: Sequence[tuple[str, Any]]) -> Any:
    """Returns the graph of an estimator; a classifier's second score is that of `classes_[1]`.

    A converter refuses an option that it does not have, and that of `LinearSVC` has no `zipmap`.
    """
    attempts: list[dict[Any, Any]] = [{}]
    if hasattr(model, "classes_"):
        attempts = [{"zipmap": False}]
    if hasattr(model, "classes_") and not hasattr(model, "predict_proba"):
        final = model
        while hasattr(final, "steps"):
            final = final.steps[-1][1]
        # Without this, some write their scores with the sign turned, such as `SVC`.
        raw = {"raw_scores": True}
        attempts = [{id(final): raw | {"zipmap": False}}, {id(final): raw}, *attempts]
    for options in attempts[:-1]:
        try:
            return converter.to_onnx(model, initial_types=inputs, options=options)
        except NameError:
            continue
    return converter.to_onnx(model, initial_types=inputs, options=attempts[-1])


def skl2onnx() -> Any:
    """Imports the converter."""
    try:
        import_module("skl2onnx.common.data_types")
        return import_module("skl2onnx")
    except ImportError as error:
        raise ExportError(
            "export: a model of scikit-learn needs `skl2onnx` (`pip install skl2onnx`); a linear"
            " one needs nothing with `export_linear`"
        ) from error


def named(
    own: Any,
    given: Sequence[str] | None,
    count: int,
    library: str,
    texts: Sequence[str] = (),
) -> list[str]:
    """Returns the names of all columns, checked."""
    names = [str(name) for name in (own if given is None and own is not None else given or ())]
    if len(names) != count:
        found = f"{len(names)} names" if names else "no names"
        raise ExportError(
            f"export: {found} for {count} columns; pass `features`, a name for each column of the"
            " training data"
        )
    check_names(names, library, texts)
    return names


def several(what: str, count: int) -> str:
    """Returns why a model does not rank."""
    return (
        f"export: this model of {what} gives {count} scores, and a ranking needs one; train a"
        " ranker (`lambdarank`, `rank:ndcg`), a regression or a classifier of two classes"
    )
