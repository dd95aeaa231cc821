//! Memory of an idle Tidegate with the news example's items and model.

use std::fs;
use std::time::Duration;

use anyhow::Result;

use super::Row;
use crate::measure::Measurement;
use crate::peers::tidegate;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "idle",
    what: "resident memory with the news example loaded and nothing to do",
    notes: "The configuration is that of `examples/news`; the figure is read two seconds after the \
        first answer.",
    peers: &["tidegate"],
    run,
};

const PATH: &str = "/1/recommendations.json";

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let example = setup.root().join("examples/news");
    let written = fs::read_to_string(example.join("tidegate.toml"))?;
    // Where it listens and what it records to is this run's own.
    let sections = written.find("[[model]]").map_or("", |at| &written[at..]);
    let sections = ["model.json", "items.jsonl"].iter().fold(sections.to_owned(), |text, file| {
        text.replace(&format!("\"{file}\""), &format!("\"{}\"", example.join(file).display()))
    });
    let mut sizes = Vec::new();
    for _ in 0..setup.rounds.min(3) {
        let options =
            tidegate::Options { name: "Tidegate", journal: true, sections: &sections, ready: PATH };
        let ours = tidegate::start(setup, &options)?;
        std::thread::sleep(Duration::from_secs(2));
        sizes.push(ours.server.rss_bytes() as f64 / 1e6);
    }
    Ok(vec![Measurement::new("Tidegate", "MB resident", sizes).at_most(100.0, "below 100 MB")])
}
