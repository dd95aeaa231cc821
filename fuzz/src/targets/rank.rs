//! Bodies of ranking requests: an answer or a refusal with 4xx, and a refusal writes nothing.

use std::path::Path;
use std::sync::OnceLock;

use exchange::ModelRequest;
use serving::{ModelConfig, Ranking, plan};

pub(super) const TOKENS: &[&str] = &[
    "{\"candidates\":[",
    "\"id\":\"10000\"",
    "{\"id\":\"1\",",
    "\"limit\":5",
    "\"user\":{",
    "\"item\":{",
    "\"affinity\":{\"sports\":1.0}",
    "]}",
    "null",
    "1e999",
    "-0",
    "\\u0000",
    "\"candidates\":\"all\"",
];

pub(super) fn run(input: &[u8]) {
    let mut out = b"before".to_vec();
    let request = ModelRequest { body: input, id: 1, ..ModelRequest::default() };
    match ranking().rank("news", &request, &mut out) {
        Ok(_) => assert!(out.len() > 6 && out.ends_with(b"}"), "an answer is an object"),
        Err(refusal) => {
            assert_eq!(out, b"before", "a refusal wrote");
            assert!((400..500).contains(&refusal.status), "{refusal:?}");
        }
    }
}

fn ranking() -> &'static Ranking {
    static RANKING: OnceLock<Ranking> = OnceLock::new();
    RANKING.get_or_init(|| {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/news"));
        let config = ModelConfig {
            name: Some("news".to_owned()),
            file: Some("model.json".into()),
            items: Some("items.jsonl".into()),
            ..ModelConfig::default()
        };
        let plans = plan(&[config], root, &mut |key, reason| panic!("{key}: {reason}"));
        Ranking::open(plans.rankers)
    })
}
