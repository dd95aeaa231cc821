//! Headlines embedded by all-MiniLM-L6-v2, in three precisions.

use std::path::Path;

use anyhow::Result;

use super::{cosines, headlines, minilm_dir, text};
use crate::contest::{self, Contestant, alternate, ratio};
use crate::measure::Measurement;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "minilm",
    what: "headlines embedded by all-MiniLM-L6-v2 in floats, bfloat16 and bytes",
    notes: "1,000 headlines of the news example (300 with `--quick`), from text to vector; one \
        thread each, CPU time of the process.\n\
        Tidegate is `crates/models` in a program of its own.\n\
        ONNX Runtime has the texts sorted by length, 32 together and padded; its int8 is \
        `quantize_dynamic`.\n\
        Cosines are to ONNX Runtime's floats.\n\
        Peak memory is that of the whole program, with weights, vectors and texts; a peer's \
        includes Python.",
    peers: &["tidegate", "onnxruntime"],
    run,
};

const DIMS: usize = 384;
const OURS: [(&str, &str); 3] =
    [("Tidegate f32", "single"), ("Tidegate bf16", "bf16"), ("Tidegate int8", "int8")];
const FLOATS: &str = "ONNX Runtime f32";
const BYTES: &str = "ONNX Runtime int8";

/// At least so many times as many texts per CPU-second.
const TARGETS: [(&str, &str, f64); 3] =
    [("Tidegate f32", FLOATS, 0.9), ("Tidegate bf16", FLOATS, 1.3), ("Tidegate int8", BYTES, 1.0)];

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let mut contestants = start(setup)?;
    let done = alternate(setup.rounds, &mut contestants, "embed", setup.trial.as_secs_f64() / 3.0)?;
    let mut measurements = Vec::new();
    for (contestant, done) in contestants.iter().zip(&done) {
        let rates = done.iter().map(|done| done.rate());
        let figure = "texts per CPU-second";
        measurements.push(Measurement::new(&contestant.name, figure, rates).drawn());
    }
    let place = |name: &str| contestants.iter().position(|one| one.name == name);
    for (left, right, least) in TARGETS {
        let (Some(ours), Some(theirs)) = (place(left), place(right)) else { continue };
        let case = format!("{left} / {right}");
        let ratio = ratio(&case, "texts per CPU-second", &done[ours], &done[theirs]);
        measurements.push(ratio.at_least(least, &format!("at least {least}")));
    }
    measurements.extend(likeness(setup, &mut contestants)?);
    for contestant in &contestants {
        let peak = Measurement::new(&contestant.name, "peak MB", [contestant.peak_mb()]);
        let is_ours = OURS.iter().any(|(name, _)| *name == contestant.name);
        measurements.push(if is_ours { peak.at_most(300.0, "under 300 MB") } else { peak });
    }
    Ok(measurements)
}

/// Ours in three precisions, then ONNX Runtime in two.
fn start(setup: &Setup) -> Result<Vec<Contestant>> {
    let dir = minilm_dir(setup)?;
    let (titles, _) = headlines(setup, if setup.quick { 300 } else { 1000 })?;
    let (floats, bytes) = (setup.cached("minilm.onnx")?, setup.cached("minilm-int8.onnx")?);
    let (dir_name, titles) = (text(&dir), text(&titles));
    if !floats.exists() {
        contest::script(setup, "make_minilm.py", &[&dir_name, &text(&floats), &text(&bytes)])?;
    }
    let mut contestants = Vec::new();
    for (name, precision) in OURS {
        let words = ["texts", &dir_name, precision, &titles];
        contestants.push(Contestant::ours(setup, name, &words)?);
    }
    let tokenizer = text(&dir.join("tokenizer.json"));
    let theirs = |name: &str, model: &Path| {
        let words = [&*text(model), &tokenizer, &titles];
        Contestant::python(setup, name, "onnx_minilm.py", &words)
    };
    contestants.extend([theirs(FLOATS, &floats)?, theirs(BYTES, &bytes)?]);
    Ok(contestants)
}

/// How near the vectors are to those of ONNX Runtime in floats.
fn likeness(setup: &Setup, contestants: &mut [Contestant]) -> Result<Vec<Measurement>> {
    let dir = setup.dir("vectors")?;
    let file = |name: &str| dir.join(name.replace(' ', "-"));
    for contestant in &mut *contestants {
        contestant.write("vectors", &file(&contestant.name.clone()))?;
    }
    let mut measurements = Vec::new();
    for contestant in contestants.iter().filter(|contestant| contestant.name != FLOATS) {
        let (least, mean) = cosines(&file(&contestant.name), &file(FLOATS), DIMS)?;
        // Of a cosine near 1 three digits say nothing; of what is missing they do.
        let missing = |cosine: f64| [1e6 * (1.0 - cosine)];
        let case = &contestant.name;
        let least = Measurement::new(case, "1 − least cosine, millionths", missing(least));
        measurements.push(match &**case {
            "Tidegate f32" => least.at_most(10.0, "cosine at least 0.99999"),
            "Tidegate bf16" => least.at_most(500.0, "cosine at least 0.9995"),
            _ => least,
        });
        let mean = Measurement::new(case, "1 − mean cosine, millionths", missing(mean));
        measurements.push(mean);
    }
    Ok(measurements)
}
