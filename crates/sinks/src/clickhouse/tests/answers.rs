//! Claims about answers of a server, and about batches of odd sizes.

use super::*;

fn sink(origin: &Origin, parameters: &str) -> ClickHouseSink {
    let rest = format!("//u:p@{}/d{parameters}", origin.address());
    ClickHouseSink::new(&rest, Path::new("/")).unwrap()
}

#[test]
fn what_a_server_refuses_is_refused_and_all_else_may_be_tried_again() {
    let long = "no such table, ".repeat(100);
    for (status, is_refused) in [(400, true), (404, true), (500, false), (503, false), (204, false)]
    {
        let body = if status == 204 { String::new() } else { long.clone() };
        let origin =
            Origin::start(move |_: &OriginRequest| OriginReply::status(status).body(&body[..]));
        let error = sink(&origin, "").checkpoints("web").unwrap_err();
        let text = error.to_string();
        assert_eq!(matches!(error, SinkError::Refused { .. }), is_refused, "{text}");
        assert_eq!(matches!(error, SinkError::Unreachable { .. }), !is_refused, "{text}");
        assert_eq!(text.contains(&long[..400]), status != 204, "{text}");
        assert!(!text.contains(&long[..401]), "{text}");
    }
}

#[test]
fn an_answer_that_makes_no_sense_is_an_error() {
    let origin = Origin::start(|_: &OriginRequest| OriginReply::ok("{\"found\":1}\nnonsense\n"));
    let error = sink(&origin, "").prepare(&[table()]).unwrap_err();
    assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("the answer makes no sense"), "{error}");
}

#[test]
fn every_statement_names_the_user_the_database_and_waits_for_its_end() {
    let fake = Fake::start();
    let (mut sink, _) = fake.begun();
    sink.deliver(&batch(1, 1, 1)).unwrap();
    for request in fake.origin.requests() {
        let [user, key] =
            ["X-ClickHouse-User", "X-ClickHouse-Key"].map(|name| request.header(name));
        assert_eq!((user, key), (Some("u"), Some("p")));
        assert_eq!(parameter(&request.target, "database").as_deref(), Some("d"));
        assert_eq!(parameter(&request.target, "wait_end_of_query").as_deref(), Some("1"));
    }
}

#[test]
fn without_tokens_and_without_a_need_for_them_no_insert_has_one() {
    let origin = Origin::start(|request: &OriginRequest| {
        let query = parameter(&request.target, "query").unwrap();
        OriginReply::ok(if query.contains("SELECT count()") { "{\"found\":0}\n" } else { "" })
    });
    let mut sink = sink(&origin, &format!("?{LOOSE}&sslmode=disable"));
    sink.prepare(&[table()]).unwrap();
    sink.deliver(&batch(1, 1, 1)).unwrap();
    let requests = origin.requests();
    let query = |request: &OriginRequest| parameter(&request.target, "query").unwrap();
    assert!(requests.iter().any(|request| query(request).starts_with("INSERT")));
    assert!(!requests.iter().any(|request| request.target.contains("token=")));
    assert!(!requests.iter().any(|request| query(request).contains("deduplication_window")));
}

#[test]
fn a_file_of_certificates_is_read_before_anything_is_sent() {
    let dir = testkit::TempDir::new().unwrap();
    let file = dir.path().join("ca.pem");
    let open = || {
        let rest = "//u:hush@h:1/d?sslmode=verify-full&sslrootcert=ca.pem";
        ClickHouseSink::new(rest, dir.path()).map(|_| ()).map_err(|error| error.to_string())
    };
    let place = format!("`clickhouse://h:1/d`: read `{}`: ", file.display());
    assert!(open().unwrap_err().starts_with(&place));
    std::fs::write(&file, "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").unwrap();
    assert!(open().unwrap_err().starts_with(&place));
    std::fs::write(&file, "nothing").unwrap();
    assert_eq!(open(), Ok(()));
}

#[test]
fn applied_batches_are_deleted_now_and_then() {
    let fake = Fake::start();
    let (mut sink, _) = fake.begun();
    let stored = json!({"node": "n", "source": "web", "sequence": 254, "position": "0"});
    fake.state.lock().unwrap().tables.insert(CHECKPOINTS.to_owned(), vec![stored]);
    for sequence in 255..=257 {
        sink.deliver(&batch(sequence, 1, 1)).unwrap();
    }
    let state = fake.state.lock().unwrap();
    let deletions: Vec<&String> =
        state.statements.iter().filter(|statement| statement.starts_with("ALTER")).collect();
    let expected = "ALTER TABLE tidegate_batches DELETE WHERE node = 'n' AND source = 'web' \
                    AND sequence < 256";
    assert_eq!(deletions, [expected]);
}

#[test]
fn a_batch_without_rows_moves_the_checkpoint() {
    let fake = Fake::start();
    let (mut sink, _) = fake.begun();
    let checkpoint = batch(1, 1, 1).checkpoint;
    sink.deliver(&Batch { checkpoint: checkpoint.clone(), rows: Vec::new() }).unwrap();
    assert_eq!(sink.checkpoints("web").unwrap(), [checkpoint]);
    assert_eq!(
        fake.state.lock().unwrap().tables.keys().collect::<Vec<_>>(),
        [BATCHES, CHECKPOINTS]
    );
}

#[test]
fn checkpoints_of_other_nodes_are_shown_and_move_nothing_of_ours() {
    let stored = "{\"node\":\"n2\",\"source\":\"web\",\"sequence\":7,\"position\":\"p\"}\n";
    let origin = Origin::start(move |request: &OriginRequest| {
        let query = parameter(&request.target, "query").unwrap();
        OriginReply::ok(match () {
            () if query.contains("SELECT count()") => "{\"found\":1}\n",
            () if query.starts_with("SELECT") && query.contains(CHECKPOINTS) => stored,
            () => "",
        })
    });
    let mut sink = sink(&origin, "");
    let (node, source, position) = ("n2".to_owned(), "web".to_owned(), "p".to_owned());
    let expected = Checkpoint { node, source, sequence: 7, position };
    assert_eq!(sink.checkpoints("web").unwrap(), [expected]);
    sink.claim("n", "web").unwrap();
    sink.deliver(&batch(1, 1, 1)).unwrap();
    let asked = |request: &OriginRequest| {
        let query = parameter(&request.target, "query").unwrap();
        query.contains(&format!(
            "FROM {BATCHES} WHERE node = 'n' AND source = 'web' AND sequence = 1 "
        ))
    };
    // By the claim, and by the delivery.
    assert_eq!(origin.requests().iter().filter(|request| asked(request)).count(), 2);
}
