//! Claims about the document of the record process.

use std::io::Read;

use super::*;

fn board() -> (Arc<StatusBoard>, Arc<Status>) {
    let status = Arc::<Status>::default();
    let entry = |source: &str| BoardEntry {
        source: source.to_owned(),
        sink: "main".to_owned(),
        status: Arc::clone(&status),
    };
    let built = || json!({ "profiles": 3 });
    let losses = Arc::new(LossBook::new(std::path::Path::new("/nowhere/losses")));
    let more = || vec!["a loss".to_owned()];
    (StatusBoard::new("node-1", vec![entry("web")], built, more, losses), status)
}

#[test]
fn the_document_says_where_each_pipeline_stands() {
    let (board, status) = board();
    let document = board.document();
    assert_eq!(document["node"], "node-1");
    assert_eq!(document["pid"], std::process::id());
    assert_eq!(document["learned"]["profiles"], 3);
    let pipeline = &document["pipelines"][0];
    assert_eq!((&pipeline["source"], &pipeline["sink"]), (&"web".into(), &"main".into()));
    assert_eq!((&pipeline["state"], &pipeline["bytes_behind"]), (&"starting".into(), &Value::Null));
    status.behind(0, 0);
    assert_eq!(board.document()["pipelines"][0]["state"], "caught up");
    status.notices.lock().unreadable.insert("a.gz".to_owned(), "it is damaged".to_owned());
    assert_eq!(board.document()["pipelines"][0]["state"], "caught up with what can be read");
    status.behind(1, 0);
    assert_eq!(board.document()["pipelines"][0]["state"], "behind");
    *status.last_error.lock() = Some("the disk is full".to_owned());
    assert_eq!(board.document()["pipelines"][0]["state"], "failing");
    status.fence.stands_by.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(board.document()["pipelines"][0]["state"], "standing by");
}

#[test]
fn rates_are_taken_since_the_oldest_sample_that_is_kept() {
    let (board, status) = board();
    let begun = Instant::now();
    let after = |seconds: u64| begun + Duration::from_secs(seconds);
    assert_eq!(board.rates(begun), [(0.0, 0.0)], "there is no sample yet");
    for second in 0..SAMPLES as u64 {
        board.sample(after(second));
        Status::count(&status.lines, 10);
        Status::count(&status.bytes, 1_000);
    }
    let seconds = SAMPLES as u64;
    assert_eq!(board.rates(after(seconds)), [(10.0, 1_000.0)]);
    // One more drops the first: what was before it no longer counts.
    board.sample(after(seconds));
    assert_eq!(board.rates(after(seconds + 1)), [(9.0, 900.0)]);
}

#[test]
fn whoever_connects_is_sent_the_document() {
    let (board, status) = board();
    *status.last_error.lock() = Some("the disk is full".to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    board.answer(listener.accept().unwrap().0);
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["node"], "node-1");
    assert_eq!(document["alarms"], json!(["web to main: the disk is full", "a loss"]));
}

#[test]
fn it_samples_and_serves_by_itself() {
    let (board, status) = board();
    status.behind(7, 0);
    board.sample_for_ever(false).unwrap();
    while board.samples.lock().is_empty() {
        std::thread::yield_now();
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    board.serve(free).unwrap();
    let mut client = loop {
        match TcpStream::connect(free) {
            Ok(client) => break client,
            Err(_) => std::thread::yield_now(),
        }
    };
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["pipelines"][0]["bytes_behind"], 7);
}
