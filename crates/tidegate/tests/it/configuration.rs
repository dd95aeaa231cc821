//! Claims about configurations.

use crate::running::run;

const WRONG: &str = r#"
roote = 1
cores = { edge = "two", wrok = 1 }

[listen]
public = "nowhere"

[journal]
sync = "soon"
on_full = "panic"

[[upstream]]
name = "backend"

[[route]]
path = "no-slash"
to = "upstream:bakend"
cache = { ttl = "1 fortnight", stael = "5m" }
coalesce = "perhaps"

[[route]]
to = "model:news"
when = 'header.user-agent ~'
personalise = { user = "userId", rollout = "5" }
"#;

#[test]
fn a_dozen_errors_come_out_at_once_with_line_and_key() {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::write(folder.path().join("tidegate.toml"), WRONG).unwrap();
    let (code, out, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 78, "{err}");
    assert!(out.is_empty(), "{out}");
    for (line, key) in [
        (2, "roote"),
        (3, "cores.edge"),
        (3, "cores.wrok"),
        (6, "listen.public"),
        (9, "journal.sync"),
        (10, "journal.on_full"),
        (12, "upstream[0].servers"),
        (16, "route[0].path"),
        (17, "route[0].to"),
        (18, "route[0].cache.ttl"),
        (18, "route[0].cache.stael"),
        (19, "route[0].coalesce"),
        (21, "route[1]"),
        (22, "route[1].to"),
        (23, "route[1].when"),
        (24, "route[1].personalise.user"),
        (24, "route[1].personalise.rollout"),
    ] {
        let wanted = format!("line {line}: `{key}`");
        assert!(err.contains(&wanted), "no {wanted} in\n{err}");
    }
    assert!(err.contains("did you mean `backend`"), "{err}");
}

const RENAMED: &str = r#"
[listen]
drain = "30s"

[statsd]
idle = "5m"
receive_buffer = "8MB"
spool = "data/spool"

[[source]]
name = "old"
files = ["access.log"]
quiet = "30s"

[[upstream]]
name = "app"
python = "app:app"
folder = "data/app"
memory_max = "500MB"
queue = 9
share = "off"

[[model]]
name = "words"
file = "words"
batch_tokens = 1
batch_wait = "1ms"
embedding_cache = "1MB"

[[route]]
path = "/"
to = "upstream:app"
compress = { min_bytes = "1KB" }
tunnel_idle = "5m"
wait = "20s"
"#;

#[test]
fn keys_of_older_versions_are_refused_and_the_new_ones_named() {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::write(folder.path().join("tidegate.toml"), RENAMED).unwrap();
    let (code, _, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 78, "{err}");
    for (line, key, new) in [
        (3, "listen.drain", "drain_timeout"),
        (6, "statsd.idle", "idle_timeout"),
        (7, "statsd.receive_buffer", "receive_buffer_bytes"),
        (8, "statsd.spool", "spool_dir"),
        (13, "source[0].quiet", "idle_timeout"),
        (18, "upstream[0].folder", "dir"),
        (19, "upstream[0].memory_max", "memory_bytes_max"),
        (20, "upstream[0].queue", "queue_max"),
        (21, "upstream[0].share", "share_memory"),
        (26, "model[0].batch_tokens", "batch_tokens_max"),
        (27, "model[0].batch_wait", "batch_timeout"),
        (28, "model[0].embedding_cache", "embedding_cache_bytes_max"),
        (33, "route[0].compress.min_bytes", "bytes_min"),
        (34, "route[0].tunnel_idle", "tunnel_idle_timeout"),
        (35, "route[0].wait", "wait_timeout"),
    ] {
        let wanted = format!("line {line}: `{key}`: the key is called `{new}` now");
        assert!(err.contains(&wanted), "no {wanted} in\n{err}");
    }
}

#[test]
fn serve_refuses_a_wrong_configuration_with_the_same_exit_code() {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::write(folder.path().join("tidegate.toml"), WRONG).unwrap();
    assert_eq!(run(&["serve"], folder.path()).0, 78);
    let (code, _, err) = run(&["serve", "-c", "absent.toml"], folder.path());
    assert_eq!(code, 78, "{err}");
    assert!(err.contains("absent.toml"), "{err}");
}

#[test]
fn the_example_configuration_has_no_errors() {
    let news = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/news");
    let (code, out, err) = run(&["config", "check"], std::path::Path::new(news));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("no errors"), "{out}");
}

#[test]
fn what_cannot_work_as_configured_is_said() {
    let folder = testkit::TempDir::new().unwrap();
    let file = folder.path().join("tidegate.toml");
    let text = r#"
        [profiles]
        file = "profiles.db"
        every = "2s"
    "#;
    std::fs::write(&file, text).unwrap();
    let (code, _, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 78, "{err}");
    assert!(err.contains("`profiles.every`"), "{err}");

    let text = r#"
        [listen]
        admin = "0.0.0.0:8081"
        [[model]]
        name = "news"
        file = "absent.json"
        items = "absent.jsonl"
        [[route]]
        path = "/list"
        to = "model:news"
        personalise = { user = "cookie:userId" }
        [[route]]
        path = "/read"
        collect = "only"
        [[upstream]]
        name = "backend"
        servers = ["127.0.0.1:1"]
        [[route]]
        path = "/leaky"
        to = "upstream:backend"
        cache = { ttl = "60s" }
        [[route]]
        path = "/tight"
        to = "upstream:backend"
        cache = { ttl = "60s" }
        key = { cookies = [] }
    "#;
    std::fs::write(&file, text).unwrap();
    let (code, out, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 0, "{err}");
    assert!(!out.contains("/tight"), "{out}");
    for note in [
        "`listen.admin`",
        "`/list` personalises",
        "`/read` collects",
        "absent.jsonl",
        "`/leaky` has a ttl and sends cookies on",
    ] {
        let said = out.lines().any(|line| line.starts_with("note: ") && line.contains(note));
        assert!(said, "no note of {note} in\n{out}");
    }
}

#[test]
fn printing_the_configuration_hides_its_secrets() {
    let folder = testkit::TempDir::new().unwrap();
    let text =
        "[listen]\nadmin_token = \"hush\"\n\n[journal]\nuser = \"hash\"\nuser_key = \"hush\"\n";
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    let (code, out, err) = run(&["config", "print"], folder.path());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("user = \"hash\"") && !out.contains("hush"), "{out}");
}
