//! Predictions a second on one core, through everything but the socket. The body is read, features
//! are set, 674 candidates are scored by 50 live features, and the best 10 are written as JSON.
//!
//! Run: `cargo run --release -p serving --example predictions`.
//! Every feature is crossed with a user feature, so that nothing can be folded at load. The last
//! line is the same model without crosses, where everything can be.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use exchange::ModelRequest;
use models::Iterations;
use profiles::Profile;
use serving::{CandidatesPlan, ModelPlan, Ranking};

const ITEMS: usize = 4400;
const CANDIDATES: usize = 674;
const FEATURES: usize = 50;
const BODIES: usize = 100;
const ROUND: Duration = Duration::from_millis(700);
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let out = &mut io::stdout();
    let folder = tempfile::tempdir()?;
    let live = open(folder.path(), true, None)?;
    let of_set = open(folder.path(), true, Some(0))?;
    let folded = open(folder.path(), false, None)?;
    let user = r#""user":{"affinity":{"b":0.61,"t":0.39},"reads":12},"limit":10"#;
    let by_set = format!(r#"{{"candidates":"set",{user}}}"#);
    // Many bodies in turn: of one alone the processor would learn every branch.
    let by_ids: Vec<String> = (0..BODIES)
        .map(|body| {
            let id = |n: usize| format!("\"{}\"", (n * 2741 + body * 7) % ITEMS);
            let ids: Vec<String> = (0..CANDIDATES).map(id).collect();
            format!(r#"{{"candidates":[{}],{user}}}"#, ids.join(","))
        })
        .collect();
    let mut turn = 0;
    let everything = format!("{{{user}}}");
    report(out, "by candidate set", CANDIDATES, || rank(&live, &by_set))?;
    report(out, "674 ids in the body", CANDIDATES, || {
        turn = (turn + 1) % BODIES;
        rank(&live, &by_ids[turn])
    })?;
    report(out, "every item (4400)", ITEMS, || rank(&live, &everything))?;
    let data = br#"{"affinity":{"b":0.61,"t":0.39},"reads":12,"recent":["12","55","9"]}"#;
    let profile = Profile::parse(data)?;
    report(out, "GET with a profile", CANDIDATES, || recommend(&of_set, &profile))?;
    report(out, "by candidate set, all features folded", CANDIDATES, || rank(&folded, &by_set))?;
    Ok(())
}

fn rank(ranking: &Ranking, body: &str) -> bool {
    let mut out = Vec::with_capacity(2048);
    let request = ModelRequest { body: black_box(body.as_bytes()), ..ModelRequest::default() };
    black_box(ranking.rank("m", &request, &mut out).is_ok())
}

fn recommend(ranking: &Ranking, profile: &Profile) -> bool {
    let mut out = Vec::with_capacity(2048);
    let request = ModelRequest::default();
    black_box(ranking.recommend("m", Some(black_box(profile)), &request, &mut out).is_ok())
}

/// Prints the median of a few rounds.
fn report(
    out: &mut impl Write,
    name: &str,
    candidates: usize,
    mut request: impl FnMut() -> bool,
) -> io::Result<()> {
    assert!(request(), "{name}");
    let mut rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let mut requests = 0.0;
            while start.elapsed() < ROUND {
                for _ in 0..50 {
                    black_box(request());
                }
                requests += 50.0;
            }
            requests / start.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let rate = rates[ROUNDS / 2];
    let (micros, millions) = (1e6 / rate, rate * candidates as f64 / 1e6);
    writeln!(out, "{name:38} {rate:9.0} requests/s {micros:7.2} us {millions:7.1} M predictions/s")
}

fn open(folder: &Path, live: bool, default_set: Option<usize>) -> Result<Ranking, Box<dyn Error>> {
    let (file, items) = (folder.join(format!("{live}.json")), folder.join("items.jsonl"));
    std::fs::write(&file, model(live))?;
    std::fs::write(&items, item_lines())?;
    let highest = Some(("popularity".to_owned(), CANDIDATES));
    let set = CandidatesPlan { name: "set".into(), fields: Vec::new(), highest };
    Ok(Ranking::open(vec![ModelPlan {
        name: "m".into(),
        file,
        items,
        fields: Some(Vec::new()),
        limit: 10,
        limit_max: 1000,
        candidates_max: 100_000,
        candidates: vec![set],
        candidates_default: default_set,
        per_category_max: None,
        exclude_recent: true,
        version: None,
        golden: None,
        iterations: Iterations::Best,
    }]))
}

fn model(live: bool) -> String {
    let terms: Vec<String> = (0..FEATURES)
        .map(|n| {
            let weight = (n as f64).sin();
            let user = ["affinity.b", "affinity.t", "reads"][n % 3];
            match live {
                true => format!(
                    "{{\"left\":\"user.{user}\",\"right\":\"item.f{n}\",\"weight\":{weight}}}"
                ),
                false => format!("{{\"name\":\"item.f{n}\",\"weight\":{weight}}}"),
            }
        })
        .collect();
    let key = if live { "crosses" } else { "features" };
    format!(
        "{{\"format\":\"tidegate-linear-1\",\"name\":\"m\",\"version\":\"1\",\"link\":\"logistic\",\
         \"{key}\":[{}]}}",
        terms.join(",")
    )
}

fn item_lines() -> String {
    let mut lines = String::new();
    for row in 0..ITEMS {
        let category = ["b", "t", "e", "m"][row % 4];
        // Popularity scatters, so that the set is no contiguous run of rows.
        let popularity = row * 2741 % ITEMS;
        let _ = write!(
            lines,
            "{{\"id\":\"{row}\",\"title\":\"Fed official says weak data caused by weather {row}\",\
             \"category\":\"{category}\",\"popularity\":{popularity}"
        );
        for n in 0..FEATURES {
            let value = ((row * 31 + n * 17) % 1009) as f64 / 1009.0;
            let _ = write!(lines, ",\"f{n}\":{value}");
        }
        lines.push_str("}\n");
    }
    lines
}
