//! Bodies of `infer` of the Open Inference Protocol: an answer or a refusal with 4xx, and a refusal
//! writes nothing. The first line of an input says how much of the body is JSON; 0 is all of it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use exchange::ModelRequest;
use serving::{JobGroup, JobPool, ModelConfig, Models, plan};

use super::{number, settings};

pub(super) const TOKENS: &[&str] = &[
    "{\"inputs\":[",
    "{\"name\":\"input\",",
    "\"shape\":[1,10],",
    "\"shape\":[0,10],",
    "\"datatype\":\"FP64\",",
    "\"datatype\":\"FP16\",",
    "\"datatype\":\"BYTES\",",
    "\"data\":[",
    "\"data\":[[",
    "\"parameters\":{\"binary_data_size\":80}",
    "\"outputs\":[{\"name\":\"predict\",\"parameters\":{\"binary_data\":true}}]",
    "\"parameters\":{\"raw_score\":true}",
    "\"id\":\"1\"",
    "null",
    "1e999",
    "-0.0",
    "18446744073709551615",
    "]}",
];

/// Computes nothing: what is asked here is answered at once.
struct Never;

impl JobPool for Never {
    fn spawn(&self, _: JobGroup<'_>, _: Box<dyn FnOnce() + Send>) -> bool {
        false
    }
}

pub(super) fn run(input: &[u8]) {
    let (line, body) = settings(input);
    let json_length = Some(number(line, 0) as usize).filter(|length| *length > 0);
    let mut out = b"before".to_vec();
    let (method, path) = ("POST", "/v2/models/line/infer");
    let request = ModelRequest { method, path, body, json_length, ..ModelRequest::default() };
    match models().answer(&request, &mut out) {
        Ok(answer) => {
            let length = answer.json_length.unwrap_or(out.len() - 6);
            let json = &out[6..6 + length];
            assert!(json.starts_with(b"{\"model_name\":\"line\"") && json.ends_with(b"}"));
        }
        Err(refusal) => {
            assert_eq!(out, b"before", "a refusal wrote");
            assert!((400..500).contains(&refusal.status), "{refusal:?}");
        }
    }
}

fn models() -> &'static Models {
    static MODELS: OnceLock<Models> = OnceLock::new();
    MODELS.get_or_init(|| {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/news"));
        let config = ModelConfig {
            name: Some("line".to_owned()),
            file: Some("model.json".into()),
            ..ModelConfig::default()
        };
        let plans = plan(&[config], root, &mut |key, reason| panic!("{key}: {reason}"));
        Models::open(plans, None, Arc::new(Never))
    })
}
