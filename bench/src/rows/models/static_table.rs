//! Headlines embedded by a table: a vector for each token, and their mean.

use anyhow::{Result, ensure};

use super::{cosines, headlines, minilm_dir, text};
use crate::contest::{self, Contestant, alternate, ratio};
use crate::measure::Measurement;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "static",
    what: "headlines embedded by static embeddings, 30,522 tokens of 256 numbers",
    notes: "4,400 headlines, from text to vector; one thread each, CPU time of the process.\n\
        The vectors are those of all-MiniLM-L6-v2's words, turned to 256 directions.\n\
        That is the size of Model2Vec's own models, saved as it saves them.\n\
        Tidegate is `crates/models` in a program of its own; Model2Vec is its Python package, on \
        the tokenizers package.",
    peers: &["tidegate", "model2vec"],
    run,
};

const DIMS: usize = 256;
const TITLES: usize = 4400;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let encoder = minilm_dir(setup)?;
    let table = text(&setup.dir("table")?);
    contest::script(setup, "make_static.py", &[&text(&encoder), &table])?;
    let titles = text(&headlines(setup, TITLES)?.0);
    let mut contestants = [
        Contestant::ours(setup, "Tidegate", &["texts", &table, "single", &titles])?,
        Contestant::python(setup, "Model2Vec", "model2vec_static.py", &[&table, &titles])?,
    ];
    let done = alternate(setup.rounds, &mut contestants, "embed", setup.trial.as_secs_f64() / 3.0)?;
    let dir = setup.dir("vectors")?;
    let (ours, theirs) = (dir.join("ours"), dir.join("theirs"));
    contestants[0].write("vectors", &ours)?;
    contestants[1].write("vectors", &theirs)?;
    let (least, _) = cosines(&ours, &theirs, DIMS)?;
    ensure!(least > 0.999_999, "a vector is another than Model2Vec's: their cosine is {least}");
    let rates = |at: usize| {
        let rates = done[at].iter().map(|done| done.rate());
        Measurement::new(&contestants[at].name, "texts per CPU-second", rates).drawn()
    };
    let [ours, theirs] = [&done[0], &done[1]];
    Ok(vec![
        rates(0).at_least(50_000.0, "at least 50 k"),
        rates(1),
        ratio("Tidegate / Model2Vec", "texts per CPU-second", ours, theirs),
        Measurement::new("Tidegate", "peak MB", [contestants[0].peak_mb()]),
        Measurement::new("Model2Vec", "peak MB", [contestants[1].peak_mb()]),
    ])
}
