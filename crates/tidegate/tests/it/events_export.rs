//! Claims about training data: what a running server showed, with what was done with it.

use std::path::Path;
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};
use testkit::Client;

use crate::running::{Running, json, run};

const CONFIG: &str = r#"
[journal]
dir = "data/journal"
sync = "always"

[[model]]
name = "news"
file = "model.json"
items = "items.jsonl"

[[route]]
path = "/1/recommendations.{format:json}"
to = "model:news"
cache = { ttl = "60s" }
personalise = { user = "cookie:userId", rollout = "0%" }

[[route]]
path = "/1/feedback/read"
collect = "only"
personalise = { user = "cookie:userId" }
"#;

fn prepare(folder: &Path) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/news");
    for file in ["model.json", "items.jsonl"] {
        std::fs::copy(example.join(file), folder.join(file)).unwrap();
    }
}

/// What Python's own reader makes of a CSV: a line for each item with feedback, and the number of
/// rows.
const PYTHON: &str = "
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline='')))
for row in rows:
    if row['label'] == '1':
        print(row['user'], row['position'], row['item'], row['feedback'], row['model'],
              row['decision'], float(row['propensity']) > 0, row['censored'])
print(len(rows), len({row['request_id'] for row in rows}), len({row['ranked_by'] for row in rows}))
";

#[test]
fn what_was_shown_from_the_cache_is_joined_with_its_feedback_by_ranking_and_user() {
    let server = Running::start(CONFIG, prepare);
    let folder = server.folder.path();
    let shown = |user: &str| json(&server.get_as(user, "/1/recommendations.json"));
    let first = shown("ann");
    let second = shown("bob");
    // One ranking for both; each is an impression of its own.
    assert_eq!(first["request_id"], second["request_id"]);
    let ranking = first["request_id"].as_str().unwrap();
    let items = second["items"].as_array().unwrap();
    let third = items[2]["id"].as_str().unwrap();
    for _ in 0..2 {
        let target = format!("/1/feedback/read?item={third}&request={ranking}");
        let read = Client::post(server.public, &target, "").header("cookie", "userId=bob");
        assert_eq!(read.send().status, 204);
    }
    let export = |file: &str| {
        let arguments = ["events", "export", "--training", "--output", file];
        server.wait_for_journal(|lines| lines.len() >= 4);
        let (code, text, said) = run(&arguments, folder);
        assert_eq!(code, 0, "{said}");
        assert!(text.contains("4 lines (0 refused): 2 impressions of "), "{text}");
        assert!(text.contains("1 of them with feedback; 2 times feedback, 0 of them"), "{text}");
    };
    export("training.csv");
    let mut python = Command::new("python3");
    let output = python.args(["-c", PYTHON, "training.csv"]).current_dir(folder).output().unwrap();
    let read = String::from_utf8(output.stdout).unwrap();
    let rows = items.len() * 2;
    let decision = second["decision"].as_str().unwrap();
    let wanted = format!("bob 3 {third} 2 news {decision} True 1\n{rows} 2 1\n");
    assert_eq!(read, wanted);

    export("training.parquet");
    let file = std::fs::File::open(folder.join("training.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), rows);
    let taken = |row: &&parquet::record::Row| row.to_string().contains("label: 1");
    let taken: Vec<String> = read.iter().filter(taken).map(ToString::to_string).collect();
    assert_eq!(taken.len(), 1);
    assert!(taken[0].contains("user: \"bob\"") && taken[0].contains("position: 3"), "{taken:?}");
    // Nothing else is left in the folder.
    let left = std::fs::read_dir(folder).unwrap().flatten();
    let left = left.filter(|file| file.file_name().to_string_lossy().contains("export"));
    assert_eq!(left.count(), 0);
}

#[test]
fn export_says_what_is_missing() {
    let folder = testkit::TempDir::new().unwrap();
    let folder = folder.path();
    let config = "[[source]]\nname = \"web\"\nfiles = [\"a.log\"]\n";
    std::fs::write(folder.join("tidegate.toml"), config).unwrap();
    let refused = |arguments: &[&str], wanted: i32, cause: &str| {
        let (code, _, said) = run(&[&["events", "export"], arguments].concat(), folder);
        assert_eq!(code, wanted, "{said}");
        assert!(said.contains(cause), "{said}");
    };
    refused(&[], 2, "--training");
    refused(&["--training"], 1, "no [journal], and no log in its format");
    refused(&["--training", "--source", "web"], 1, "its format is not `tidegate`");
    let config = config.to_owned() + "format = \"tidegate\"\n";
    std::fs::write(folder.join("tidegate.toml"), config).unwrap();
    refused(&["--training"], 1, "no impression among them");
    refused(&["--training", "--feedback", "x =="], 1, "read `--feedback x ==`");
    refused(&["--training", "--since", "noon"], 1, "`noon` is no time");
    refused(&["--training", "--since", "2026", "--until", "2025"], 1, "nothing is between");
    refused(&["--training", "--output", "no/such/folder.csv"], 1, "no/such");
}
