//! Headlines embedded and grouped, and how well the groups are the stories.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{headlines, minilm_dir, text};
use crate::contest::{self, Contestant, TaskResult};
use crate::measure::Measurement;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "clusters",
    what: "1,000 to 10,000 headlines embedded and grouped, and whether the groups are stories",
    notes: "Vectors of all-MiniLM-L6-v2 in bfloat16, 384 numbers; one thread each, CPU time of the \
        process.\n\
        Embedding and grouping are measured apart: embedding 10,000 headlines once, grouping in \
        every round.\n\
        Of the 10,000 headlines, 4,400 are whole; the rest are the same without their last or \
        first word.\n\
        Tidegate is `crates/models` in a program of its own.\n\
        At its defaults it uses average linkage at 0.35 up to 5,000 rows, and communities at 0.5 \
        above.\n\
        For scikit-learn it is `AgglomerativeClustering` of cosine and average, at the same limit \
        on the same vectors.\n\
        V-measure and adjusted Rand index are against the stories of the data set, in thousandths.",
    peers: &["tidegate", "scikit-learn"],
    run,
};

const OURS: &str = "Tidegate";
const THEIRS: &str = "scikit-learn";
const DIMS: &str = "384";
const SIMILARITY: &str = "0.35";
const ALL: usize = 10_000;

/// What both group, to be compared.
const BOTH: [usize; 2] = [1000, 4400];

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let dir = text(&minilm_dir(setup)?);
    let (titles, stories) = headlines(setup, ALL)?;
    let mut ours = Contestant::ours(setup, OURS, &["texts", &dir, "bf16", &text(&titles)])?;
    // A first run finds the pages that it needs.
    ours.run("embed-100", 0.0)?;
    let few = (0..setup.rounds).map(|_| ours.run("embed-1000", 0.0)).collect::<Result<Vec<_>>>()?;
    let many = [ours.run("embed-10000", 0.0)?];
    let mut measurements = vec![
        milliseconds(&format!("{OURS}, 1000"), "embedding, CPU ms", &few),
        milliseconds(&format!("{OURS}, 10000"), "embedding, CPU ms", &many),
    ];
    let vectors = setup.dir("vectors")?.join("ours");
    ours.write("vectors", &vectors)?;
    let counts = BOTH.map(|count| count.to_string());
    let words = [&*text(&vectors), DIMS, SIMILARITY, &counts[0], &counts[1]];
    let theirs = Contestant::python(setup, THEIRS, "sklearn_clusters.py", &words)?;
    let mut contestants = [ours, theirs];
    for count in BOTH {
        measurements.extend(compare(setup, &mut contestants, count)?);
        measurements.extend(judge(setup, &mut contestants, count, &stories)?);
    }
    let [ours, _] = &mut contestants;
    let grouped = (0..setup.rounds).map(|_| ours.run("group-10000", 0.0));
    let grouped = grouped.collect::<Result<Vec<_>>>()?;
    measurements.push(milliseconds(&format!("{OURS}, 10000"), GROUPING, &grouped));
    measurements.push(Measurement::new(OURS, "peak MB, embedding included", [ours.peak_mb()]));
    Ok(measurements)
}

const GROUPING: &str = "grouping, CPU ms";

fn milliseconds(case: &str, figure: &str, done: &[TaskResult]) -> Measurement {
    Measurement::new(case, figure, done.iter().map(|done| done.cpu_ms()))
}

/// Both group the first headlines in alternating order.
fn compare(
    setup: &Setup,
    contestants: &mut [Contestant],
    count: usize,
) -> Result<Vec<Measurement>> {
    let task = format!("group-{count}");
    let done = contest::alternate(setup.rounds, contestants, &task, 0.0)?;
    let figures = contestants.iter().zip(&done).map(|(contestant, done)| {
        milliseconds(&format!("{}, {count}", contestant.name), GROUPING, done)
    });
    let mut measurements: Vec<_> = figures.collect();
    let case = format!("{OURS} / {THEIRS}, {count}");
    measurements.push(contest::ratio(&case, "rows per CPU-second", &done[0], &done[1]));
    Ok(measurements)
}

/// How well the groups of both are the stories.
fn judge(
    setup: &Setup,
    contestants: &mut [Contestant],
    count: usize,
    stories: &Path,
) -> Result<Vec<Measurement>> {
    let dir = setup.dir("groups")?;
    let mut scores = Vec::new();
    for contestant in &mut *contestants {
        let file = dir.join(&contestant.name);
        contestant.write(&format!("groups-{count}"), &file)?;
        let words = [&*text(stories), &text(&file)];
        let printed = contest::script(setup, "story_scores.py", &words)?;
        let found: Vec<f64> = serde_json::from_str(&printed)?;
        ensure!(found.len() == 2, "`story_scores.py` prints `{printed}`");
        scores.push(found);
    }
    let mut measurements = Vec::new();
    for (at, name) in ["V-measure, thousandths", "adjusted Rand, thousandths"].iter().enumerate() {
        for (contestant, scores) in contestants.iter().zip(&scores) {
            let case = format!("{}, {count}", contestant.name);
            measurements.push(Measurement::new(case, name, [1e3 * scores[at]]));
        }
        // Rounding in the sums of two programs is no difference, nor is a zero below zero.
        let behind = (1e6 * (scores[0][at] - scores[1][at])).round() / 1e3 + 0.0;
        let case = format!("{OURS} − {THEIRS}, {count}");
        let measured = Measurement::new(case, name, [behind]);
        measurements.push(measured.at_least(-5.0, "at least −5"));
    }
    Ok(measurements)
}
