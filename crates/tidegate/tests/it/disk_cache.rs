//! Claims about the cache on disk of a process that is killed while it writes.

use std::path::Path;

use testkit::{Client, Origin, OriginReply, Reply, TempDir};

use crate::running::{Running, until};

/// Answers that were safe on disk before the process was killed.
const SAFE: usize = 40;

fn config(origin: &Origin) -> String {
    format!(
        "[cache]\ndisk = {{}}\n\n[[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n\n[[route]]\n\
         path = \"/{{*rest}}\"\nto = \"upstream:o\"\ncompress = \"off\"\n\
         cache = {{ ttl = \"10m\", disk = true }}\n",
        origin.address()
    )
}

fn target(number: usize) -> String {
    format!("/{number}")
}

fn body(target: &str) -> String {
    format!("{target} ").repeat(1 + target.len() * target.len() * 200)
}

fn get(server: &Running, target: &str) -> Reply {
    Client::get(server.public, target).header("Host", "news.test").send()
}

fn is_from_disk(reply: &Reply) -> bool {
    reply.header("cache-status").is_some_and(|status| status.ends_with("detail=disk"))
}

#[test]
fn a_killed_process_leaves_whole_answers_and_its_successor_finds_them() {
    let origin = Origin::start(|request| OriginReply::ok(body(&request.target)));
    let config = config(&origin);
    let mut server = Running::start_in(TempDir::new().unwrap(), &config);
    let mut asked = 0;
    for _ in 0..4 {
        let safe = asked..asked + SAFE;
        safe.clone().for_each(|number| drop(get(&server, &target(number))));
        let waits = |server: &Running| server.status()["cache"]["disk"]["waiting"].as_u64();
        until("writes", || waits(&server) == Some(0));
        asked += SAFE;
        // Written, or being written, or neither, when the process is killed.
        for _ in 0..SAFE {
            assert_eq!(get(&server, &target(asked)).status, 200);
            asked += 1;
        }
        server = server.crash_and_restart(&config);
        let fetched = origin.requests().len();
        assert!(safe.clone().all(|number| is_from_disk(&get(&server, &target(number)))));
        assert_eq!(origin.requests().len(), fetched);
        for number in 0..asked {
            let target = target(number);
            assert!(get(&server, &target).text() == body(&target), "{target}");
        }
    }
    assert!(Path::new(&server.folder.path().join("data/cache/cache.redb")).exists());
    assert_eq!(server.status()["alarms"].as_array().map(Vec::len), Some(0));
}
