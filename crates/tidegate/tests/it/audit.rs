//! Claims about the trail of actions: what a scripted run leaves in it, and what is found when it
//! is changed. Also what happens where it cannot be written.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Client, Origin, OriginReply, SmallDisk, TempDir};

use crate::running::{Running, run, until};

fn server(audit: &str) -> (Origin, Running) {
    let origin = Origin::start(|_| OriginReply::ok("x").header("Cache-Control", "max-age=60"));
    let running = Running::start(&config(&origin, audit), |_| {});
    (origin, running)
}

pub(crate) fn config(origin: &Origin, audit: &str) -> String {
    format!(
        "[audit]\n{audit}\n[[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\ncache = {{ ttl = \"60s\" }}\n\
         personalise = {{ user = \"cookie:userId\", rollout = \"5%\" }}\n",
        origin.address()
    )
}

fn trail(running: &Running) -> PathBuf {
    running.folder.path().join("data/audit/audit-000001.ndjson")
}

fn shown(folder: &Path, more: &[&str]) -> (i32, Value) {
    let (code, out, err) = run(&[&["audit", "--format", "json"], more].concat(), folder);
    assert_eq!(err, "");
    (code, serde_json::from_str(&out).unwrap())
}

/// Name, object and result of each action.
fn actions(document: &Value) -> Vec<[String; 3]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = document["actions"].as_array().unwrap().iter();
    all.map(|it| [text(&it["action"]), text(&it["what"]), text(&it["result"])]).collect()
}

/// The user that runs the tests.
fn uid() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_scripted_run_is_in_the_trail_with_who_what_and_result() {
    let (_origin, running) = server("syslog = \"off\"");
    let folder = running.folder.path();
    for path in ["/a", "/b?token=secret"] {
        running.get(path);
    }
    let post = |target: &str, body: &str| Client::post(running.admin, target, body).send().status;
    assert_eq!(post("/purge?url=/b%3Ftoken%3Dsecret", ""), 200);
    assert_eq!(post("/purge", "{\"all\": true}"), 200);
    assert_eq!(post("/purge?wrong=1", ""), 400);
    assert_eq!(run(&["rollout", "set", "--kill", "on"], folder).0, 0);
    assert_eq!(run(&["rollout", "set", "--clear"], folder).0, 0);
    assert_eq!(run(&["workers", "recycle", "none"], folder).0, 1);
    assert_eq!(run(&["workers", "reload", "none"], folder).0, 1);
    assert_ne!(post("/v2/repository/models/none/load", ""), 200);
    assert_ne!(post("/v2/repository/models/none/unload", ""), 200);
    assert_eq!(post("/v2/repository/index", ""), 200);
    let probe = ["lab", "probe", "-n", "3", "--closed", "--", "env", "PASSWORD=secret", "true"];
    assert_eq!(run(&probe, folder).0, 0);
    assert_eq!(run(&["lab", "bench", "-r", "2", "--prepare", "true", "echo x"], folder).0, 0);

    let (code, document) = shown(folder, &[]);
    assert_eq!((code, &document["verified"]["holds"]), (0, &true.into()));
    let [wrong, load, unload] = [2, 7, 8].map(|at| actions(&document)[at][2].clone());
    assert!(load.starts_with("failed, 4") && unload.starts_with("failed, 4"), "{load} {unload}");
    let expected = [
        ["purge", "url=/b?token=***", "done, 1 entry"],
        ["purge", "all=true", "done, 1 entry"],
        ["purge", "wrong=1", wrong.as_str()],
        ["rollout set", "killed=true", "done"],
        ["rollout clear", "", "done"],
        ["workers recycle", "name=none", "failed, 400: there is no pool `none`; there are none"],
        ["workers reload", "name=none", "failed, 400: there is no pool `none`; there are none"],
        ["model load", "none", load.as_str()],
        ["model unload", "none", unload.as_str()],
        ["lab probe", "env 'PASSWORD=***' true", "done, 3 runs"],
        ["lab bench", "echo x (prepare: true)", "done, 2 runs"],
    ];
    assert_eq!(actions(&document), expected);
    let all = document["actions"].as_array().unwrap();
    assert!(all[..9].iter().all(|it| it["who"]["client"] == "127.0.0.1"));
    assert!(all.iter().all(|it| it["who"]["uid"] == uid()), "{all:#?}");
    let bytes = std::fs::read_to_string(trail(&running)).unwrap();
    assert!(!bytes.contains("secret"), "{bytes}");

    let (code, text, _) = run(&["audit", "--action", "purge", "--since", "1h"], folder);
    assert_eq!((code, text.lines().count()), (0, 6), "{text}");
    assert!(text.contains("data/audit: 22 entries in 1 file: the chain holds; entry 22 is "));
    let (_, later) = shown(folder, &["--since", "2100-01-01"]);
    assert_eq!(actions(&later).len(), 0);
    let (_, nobodys) = shown(folder, &["--user", "nobody-at-all", "--action", "lab"]);
    assert_eq!(actions(&nobodys).len(), 0);
    let (_, of_lab) = shown(folder, &["--user", &uid().to_string(), "--action", "lab"]);
    assert_eq!(actions(&of_lab).len(), 2);
}

#[test]
fn an_edited_line_is_found_with_its_place() {
    let (_origin, running) = server("syslog = \"off\"");
    let folder = running.folder.path();
    for url in ["/a", "/b", "/c"] {
        Client::post(running.admin, &format!("/purge?url={url}"), "").send();
    }
    let file = trail(&running);
    let text = std::fs::read_to_string(&file).unwrap();
    let offset = text.lines().take(2).map(|line| line.len() + 1).sum::<usize>();
    std::fs::write(&file, text.replace("url=/b", "url=/d")).unwrap();
    let (code, out, _) = run(&["audit", "--verify"], folder);
    assert_eq!(code, 1);
    assert_eq!(
        out,
        format!(
            "break: audit-000001.ndjson, line 3, byte {offset}: edited: entry 3: its bytes do not \
             give its hash\n\
             break: audit-000001.ndjson, line 4, byte {}: edited: entry 4: its bytes do not give \
             its hash\n\
             data/audit: 4 entries in 1 file: the chain breaks in 2 places\n",
            text.lines().take(3).map(|line| line.len() + 1).sum::<usize>()
        )
    );
    let (_, table, _) = run(&["audit"], folder);
    assert!(table.contains("url=/a") && table.contains("the line was edited"), "{table}");
    // The server goes on behind the break.
    Client::post(running.admin, "/purge?url=/e", "").send();
    let (code, document) = shown(folder, &[]);
    assert_eq!((code, document["verified"]["breaks"].as_array().unwrap().len()), (1, 2));
    assert_eq!(actions(&document)[3], ["purge", "url=/e", "done, 0 entries"]);

    let shorter: Vec<&str> = text.split_inclusive('\n').take(5).collect();
    std::fs::write(&file, shorter.concat()).unwrap();
    let (code, out, _) = run(&["audit", "--verify"], folder);
    assert_eq!(code, 1);
    assert!(out.contains("cut: the tail is cut: `head` knows entry 8, the last is 5"), "{out}");
}

#[test]
fn nothing_is_verified_where_there_is_nothing() {
    let (_origin, running) = server("syslog = \"off\"");
    let folder = running.folder.path();
    let (code, _, error) = run(&["audit", "--verify", "--dir", "."], folder);
    assert_eq!(code, 1);
    assert!(error.contains("find a trail in `.`: it has no file of one"), "{error}");
    assert!(error.contains("hint: a trail begins with the first action"), "{error}");
    Client::post(running.admin, "/purge?url=/a", "").send();
    std::fs::write(folder.join("other.log"), "nothing of it\n").unwrap();
    let (code, out, _) = run(&["audit", "--verify", "--against", "other.log"], folder);
    assert!(out.ends_with("syslog: no line is about this trail, so none confirms it\n"), "{out}");
    assert_eq!(code, 1);
    std::fs::create_dir(folder.join("empty")).unwrap();
    std::fs::write(folder.join("empty/lock"), "").unwrap();
    let (code, out, _) = run(&["audit", "--verify", "--dir", "empty"], folder);
    assert_eq!((code, out.as_str()), (1, "empty: there is no entry, so nothing can be verified\n"));
    let (_, out, _) = run(&["audit", "--dir", "empty", "--format", "json"], folder);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["verified"]["holds"], Value::Null);
}

#[test]
fn where_the_trail_cannot_be_written_actions_are_refused_or_done_as_configured() {
    for (on_full, status, words) in
        [("refuse", 503, "actions are refused"), ("serve", 200, "actions are done all the same")]
    {
        let audit = format!("on_full = \"{on_full}\"\nsyslog = \"off\"");
        let (_origin, running) = server(&audit);
        let folder = running.folder.path();
        std::fs::create_dir_all(folder.join("data")).unwrap();
        std::fs::write(folder.join("data/audit"), "in the way").unwrap();
        let reply = Client::post(running.admin, "/purge?all", "").send();
        assert_eq!(reply.status, status, "{}", reply.text());
        if status == 503 {
            assert!(reply.text().contains("make the directory"), "{}", reply.text());
        }
        let alarms = || running.status()["alarms"].to_string();
        assert!(alarms().contains("audit: ") && alarms().contains(words), "{}", alarms());
        let (code, _, err) = run(&["lab", "probe", "-n", "1", "--closed", "--", "true"], folder);
        assert_eq!(code, i32::from(status == 503), "{err}");
        assert!(err.contains("data/audit"), "{err}");

        std::fs::remove_file(folder.join("data/audit")).unwrap();
        until("the alarm to end", || !alarms().contains("audit: "));
        assert_eq!(Client::post(running.admin, "/purge?all", "").send().status, 200);
        let (code, document) = shown(folder, &[]);
        assert_eq!((code, actions(&document).len()), (0, 1));
        let note = document["verified"]["notes"][0]["text"].as_str().unwrap();
        assert!(note.starts_with("not written: "), "{note}");
    }
}

#[test]
fn on_a_full_disk_the_kill_switch_works_and_the_trail_holds_afterwards() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("data/audit");
    let Some(_disk) = SmallDisk::mount(&dir, 1).unwrap() else { return };
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let running = Running::start_in(folder, &config(&origin, "syslog = \"off\""));
    let folder = running.folder.path();
    let kill = |on: &str| run(&["rollout", "set", "--kill", on], folder).0;
    assert_eq!(kill("on"), 0);
    let filler = dir.join("filler");
    // As much as fits.
    let _ = std::fs::write(&filler, vec![0; 2 << 20]);
    assert_eq!(kill("off"), 0);
    assert_eq!(kill("on"), 0);
    let alarms = || running.status()["alarms"].to_string();
    assert!(alarms().contains("No space left on device"), "{}", alarms());
    std::fs::remove_file(filler).unwrap();
    until("the alarm to end", || !alarms().contains("audit: "));
    assert_eq!(kill("off"), 0);
    let (code, document) = shown(folder, &[]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(actions(&document).last().unwrap()[1], "killed=false");
}

#[test]
fn a_server_that_is_killed_leaves_a_trail_that_goes_on() {
    let (origin, running) = server("syslog = \"off\"");
    Client::post(running.admin, "/purge?url=/a", "").send();
    let running = running.crash_and_restart(&config(&origin, "syslog = \"off\""));
    Client::post(running.admin, "/purge?url=/b", "").send();
    let (code, document) = shown(running.folder.path(), &[]);
    assert_eq!((code, actions(&document).len()), (0, 2));
}

#[test]
fn without_a_configuration_a_probe_leaves_no_files() {
    let folder = TempDir::new().unwrap();
    let probe = ["lab", "probe", "-n", "1", "--closed", "--", "true"];
    assert_eq!(run(&probe, folder.path()).0, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let (code, _, err) = run(&["audit"], folder.path());
    assert_eq!((code, err.contains("tidegate.toml")), (78, true), "{err}");
    let (code, _, err) = run(&["audit", "--dir", "none"], folder.path());
    assert_eq!((code, err.contains("hint: a trail begins")), (1, true), "{err}");
}

#[test]
fn wrong_keys_are_named() {
    let folder = TempDir::new().unwrap();
    let text = "[audit]\non_full = \"perhaps\"\nsyslog = \"log\"\n";
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    for command in [&["config", "check"][..], &["audit"]] {
        let (code, _, err) = run(command, folder.path());
        assert_eq!(code, 78, "{err}");
        assert!(err.contains("`perhaps` is none of serve, refuse"), "{err}");
        assert!(err.contains("`log` is no absolute path"), "{err}");
    }
}
