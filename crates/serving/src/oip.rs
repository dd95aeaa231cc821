//! Speaks the Open Inference Protocol 2 over REST, with Triton's binary tensors, classes and index.
//!
//! | request | answers |
//! |---|---|
//! | `GET /v2` | the server: name, version, extensions |
//! | `GET /v2/health/live`, `/v2/health/ready` | `{"live":…}`, `{"ready":…}` |
//! | `GET /v2/models/{m}[/versions/{v}]` | inputs and outputs: names, data types, shapes |
//! | `GET /v2/models/{m}[/versions/{v}]/ready` | `{"name","ready"}`, 503 while it is not |
//! | `GET /v2/models/{m}[/versions/{v}]/config` | Triton's configuration of a model |
//! | `GET /v2/models[/{m}[/versions/{v}]]/stats` | counts of predictions |
//! | `POST /v2/models/{m}[/versions/{v}]/infer` | outputs for inputs |
//! | `POST /v2/repository/index` | every model: version, state, reason |
//!
//! A slash at the end of a path is ignored. Here are paths, versions, metadata, and `infer` over
//! rows. A model has one version at a time, that of its generation. Another version is 404, which
//! names the one there is. A row whose answer is NaN spoils no other: it has null in JSON.
//! Functions take one generation; `router.rs` picks it, and answers for texts (`router/texts.rs`).
//! A new path needs arms in `method` and `router.rs`, and goes into `describe/openapi.json` and
//! docs/MODELS.md. `python/tidegate/onnx.py` speaks the protocol for worker pools.
//! Source: github.com/kserve/open-inference-protocol.

mod classes;
mod data;
mod reply;
mod request;
mod stats;

pub(crate) use classes::classes_of;
pub(crate) use reply::write_reply;
pub(crate) use request::InferRequest;
pub(crate) use stats::InferCounts;

use models::Error;
use serde_json::{Value, json};

use crate::predictor::Predictor;
use crate::refusal;
use crate::tensor::TensorAbout;
use exchange::Refusal;

/// What a path under `/v2` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OipEndpoint<'p> {
    Server,
    Live,
    Ready,
    Index,
    Metadata(ModelPath<'p>),
    Config(ModelPath<'p>),
    /// Of one model, or of all.
    Stats(Option<ModelPath<'p>>),
    ModelReady(ModelPath<'p>),
    Infer(ModelPath<'p>),
}

/// A model, and the version where the path names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelPath<'p> {
    pub(crate) name: &'p str,
    pub(crate) version: Option<&'p str>,
}

impl<'p> OipEndpoint<'p> {
    /// Reads a path; `None` for one that the protocol does not have.
    pub(crate) fn of(path: &'p str) -> Option<Self> {
        let rest = path.strip_prefix("/v2")?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        match rest {
            "" => return Some(Self::Server),
            "/health/live" => return Some(Self::Live),
            "/health/ready" => return Some(Self::Ready),
            "/repository/index" => return Some(Self::Index),
            "/models/stats" => return Some(Self::Stats(None)),
            _ => {}
        }
        let mut parts = rest.strip_prefix("/models/")?.split('/');
        let name = parts.next().filter(|name| !name.is_empty())?;
        let mut next = parts.next();
        let mut version = None;
        if next == Some("versions") {
            version = Some(parts.next().filter(|version| !version.is_empty())?);
            next = parts.next();
        }
        let model = ModelPath { name, version };
        let asked = match next {
            None => Self::Metadata(model),
            Some("ready") => Self::ModelReady(model),
            Some("config") => Self::Config(model),
            Some("stats") => Self::Stats(Some(model)),
            Some("infer") => Self::Infer(model),
            Some(_) => return None,
        };
        parts.next().is_none().then_some(asked)
    }

    /// The method that goes with it.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Infer(_) | Self::Index => "POST",
            _ => "GET",
        }
    }
}

impl ModelPath<'_> {
    /// Checks that the version asked for is the one there is.
    ///
    /// # Errors
    /// 404 that names the version there is.
    pub(crate) fn check(&self, version: &str) -> Result<(), Refusal> {
        match self.version {
            Some(asked) if asked != version => {
                let name = self.name;
                let message = format!("model `{name}` has version `{version}`, no `{asked}`");
                Err(Refusal::new(404, message))
            }
            _ => Ok(()),
        }
    }
}

/// What the server says of itself.
pub(crate) fn server() -> Value {
    let extensions = [
        "binary_tensor_data",
        "classification",
        "model_configuration",
        "model_repository",
        "statistics",
    ];
    json!({"name": "tidegate", "version": env!("CARGO_PKG_VERSION"), "extensions": extensions})
}

/// Returns what the metadata of a model are: name, version, platform, inputs and outputs.
pub(crate) fn metadata(
    (name, version, platform): (&str, &str, &str),
    (inputs, outputs): (&[TensorAbout], &[TensorAbout]),
) -> Value {
    let tensors = |tensors: &[TensorAbout]| tensors.iter().map(TensorAbout::json).collect();
    let (inputs, outputs): (Vec<Value>, Vec<Value>) = (tensors(inputs), tensors(outputs));
    json!({
        "name": name, "versions": [version], "platform": platform,
        "inputs": inputs, "outputs": outputs,
    })
}

/// Returns a model's configuration as Triton has it; `rows_max` bounds a batch.
pub(crate) fn config(metadata: &Value, rows_max: usize) -> Value {
    let tensors = |key: &str| -> Vec<Value> {
        let tensor = |tensor: &Value| {
            let name = tensor["datatype"].as_str().unwrap_or_default();
            let datatype = if name == "BYTES" { "STRING" } else { name };
            let shape = tensor["shape"].as_array().map(Vec::as_slice).unwrap_or_default();
            // Without the rows, which the batch is of.
            let dims = shape.get(1..).filter(|dims| !dims.is_empty()).map(<[Value]>::to_vec);
            json!({
                "name": tensor["name"],
                "data_type": format!("TYPE_{datatype}"),
                "dims": dims.unwrap_or_else(|| vec![json!(1)]),
            })
        };
        metadata[key].as_array().map(|all| all.iter().map(tensor).collect()).unwrap_or_default()
    };
    json!({
        "name": metadata["name"],
        "platform": metadata["platform"],
        "backend": "tidegate",
        "max_batch_size": i32::try_from(rows_max).unwrap_or(i32::MAX),
        "input": tensors("inputs"),
        "output": tensors("outputs"),
    })
}

/// Predicts what a request asks of a model, and appends the reply.
///
/// Returns the length of the JSON that stands before binary tensors, when there are any.
///
/// # Errors
/// 400 for what does not fit the model, or for a value that it cannot use; 413 for too many rows.
pub(crate) fn infer(
    (name, predictor): (&str, &Predictor),
    request: &mut InferRequest,
    rows_max: usize,
    out: &mut Vec<u8>,
) -> Result<Option<usize>, Refusal> {
    request.wants_only(&predictor.outputs)?;
    let mut rows = request.rows(predictor, rows_max)?;
    let raw = request.flag("raw_score")?;
    if raw && !predictor.has_raw() {
        return Err(refusal::bad(format!("`raw_score` is for trees; `{name}` has none")));
    }
    let mut outputs = predictor.predict(&mut rows, raw).map_err(|error| match error {
        // They fit the model by their number, so one of their values does not.
        Error::Rows(reason) => refusal::bad(format!("model `{name}`: {reason}")),
        error => refusal::failed(name, &error),
    })?;
    outputs.retain(|output| request.wants(&output.name));
    for output in &mut outputs {
        if let Some(count) = request.classes(&output.name)? {
            let about = predictor.outputs.iter().find(|about| about.name == output.name);
            let labels = about.map(|about| about.labels.as_slice()).unwrap_or_default();
            *output = classes_of(output, count, labels)?;
        }
    }
    Ok(write_reply((name, &predictor.version), request, &outputs, out))
}

#[cfg(test)]
mod tests;
