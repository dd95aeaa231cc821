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
fn a_file_of_statsd_is_checked_as_one_and_not_as_toml() {
    let folder = testkit::TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("config.js", "{\n  mgmt_port: 8126\n  port: 8125\n}");
    let (code, out, err) = run(&["config", "check", "config.js"], folder.path());
    assert_eq!((code, out.as_str()), (78, ""));
    assert_eq!(err, "config.js: 1 error\n  line 3: expected `,` before `port: 8125`\n");
    write("exact", "// statsd's\n{ port: 8125, prot: 1 }");
    let (code, out, err) = run(&["config", "check", "exact"], folder.path());
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        "note: `prot`: not a key of this file; did you mean `port`?\n\
         exact: no errors, read as a file of statsd's\n"
    );
    let (code, _, err) = run(&["serve", "exact"], folder.path());
    assert_eq!(code, 78);
    assert!(err.contains("`tidegate statsd --compat statsd -c exact` runs by it"), "{err}");
    assert_eq!(err.lines().count(), 2, "{err}");
}

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

const ZEROS: &str = r#"
cores = { edge = 0, work = 0 }
[journal]
sync = "0s"
keep = { age = "0s", bytes = "0B" }
segment_bytes_max = "0B"
[[upstream]]
name = "web"
servers = ["127.0.0.1:1"]
connect_timeout = "0s"
answer_timeout = "0s"
piece_timeout = "0s"
connections_max = 0
health = { path = "/", interval = "0s", timeout = "0s" }
[[upstream]]
name = "app"
python = "app:app"
memory_bytes_max = "0B"
age_max = "0s"
boot_timeout = "0s"
timeout = "0s"
drain_timeout = "0s"
[[route]]
path = "/"
to = "upstream:web"
coalesce = "strict"
hold = "0s"
lease = "0s"
wait_timeout = "0s"
tunnel_idle_timeout = "0s"
cache = { body_bytes_max = "0B" }
[[route]]
path = "/own"
to = "upstream:web"
personalise = { user = "cookie:u", guard = { latency = "0s" } }
[cache]
bytes = "0B"
disk = { bytes = "0B" }
[limits]
pending_max = 0
waiters_per_key_max = 0
waiters_max = 0
connections_max = 0
user_bytes_max = 0
[[model]]
name = "rows"
file = "m.json"
rows_max = 0
concurrency = 0
queue_max = 0
[[model]]
name = "words"
file = "words"
texts_max = 0
batch_tokens_max = 0
[[model]]
name = "news"
file = "m.json"
items = "items.jsonl"
limit = 0
limit_max = 0
candidates_max = 0
per_category_max = 0
[[source]]
name = "log"
files = ["access.log"]
idle_timeout = "0s"
[[sink]]
name = "db"
url = "sqlite:events.db"
flush = "0s"
[events]
window_bytes_max = "0B"
[profiles]
file = "profiles.db"
every = "0s"
half_life = "0s"
window = "0s"
items_min = 0
id_bytes_max = 0
[statsd]
receivers = 0
receive_buffer_bytes = "0B"
flush = "0s"
idle_timeout = "0s"
names_bytes_max = "0B"
spool_bytes_max = "0B"
"#;

#[test]
fn zero_is_refused_wherever_it_would_stop_the_work_or_never_rest() {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::write(folder.path().join("tidegate.toml"), ZEROS).unwrap();
    let (code, _, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 78, "{err}");
    let refused: Vec<&str> = err.lines().skip(1).collect();
    for line in ZEROS.split([',', '{', '\n']) {
        let Some((key, "0" | "\"0s\"" | "\"0B\"")) =
            line.trim_end_matches([' ', '}']).split_once(" = ")
        else {
            continue;
        };
        let key = key.trim();
        let said = |error: &&str| {
            error.contains(&format!(".{key}`: is 0; write"))
                || error.contains(&format!(".{key}`: write a size from"))
        };
        assert!(refused.iter().any(said), "no `{key}` in\n{err}");
    }
    let zeros = ZEROS.matches(" = 0").count() + ZEROS.matches(" = \"0").count();
    assert_eq!(refused.len(), zeros, "{err}");
}

const MEANINGFUL_ZEROS: &str = r#"
[listen]
drain_timeout = "0s"
[journal]
[[upstream]]
name = "web"
servers = ["127.0.0.1:1"]
idle_timeout = "0s"
health = { path = "/", initial = 0 }
retry = { share = "0%", min_per_second = 0 }
[[upstream]]
name = "app"
python = "app:app"
queue_max = 0
[[route]]
path = "/"
to = "upstream:web"
hit_for_miss = "0s"
body_bytes_max = "0B"
cache = { ttl = "0s", stale = "0s", stale_if_error = "0s" }
compress = { bytes_min = "0B" }
cors = { max_age = "0s" }
[[model]]
name = "words"
file = "words"
batch_timeout = "0"
embedding_cache_bytes_max = "0B"
[events]
quarantine = { bytes_max = "0B" }
[statsd]
prefix_bytes_max = { "app." = "0B" }
"#;

#[test]
fn zero_is_taken_where_it_means_never_none_or_at_once() {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::write(folder.path().join("tidegate.toml"), MEANINGFUL_ZEROS).unwrap();
    let (code, _, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 0, "{err}");
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

const UNNAMED: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\n\
    max_feature_idx=0\nobjective=lambdarank\nfeature_names=Column_0\n\nend of trees\n";

#[test]
fn files_of_models_that_rank_are_checked_where_they_are_there() {
    let folder = testkit::TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let section = |model: &str, items: &str| {
        let name = model.replace('.', "-");
        format!("[[model]]\nname = \"{name}\"\nfile = \"{model}\"\nitems = \"{items}\"\n")
    };
    write("unnamed.txt", UNNAMED);
    write("good.txt", &UNNAMED.replace("Column_0", "item.price"));
    write("good.jsonl", r#"{"id":"1","price":3}"#);
    write("bad.jsonl", r#"{"id":"1","price":"3"}"#);
    let good = section("good.txt", "good.jsonl");
    let absent = section("absent.txt", "absent.jsonl");
    write("tidegate.toml", &format!("{good}{absent}"));
    let (code, out, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("`./absent.txt` is not there yet"), "{out}");
    let bad = section("good.txt", "bad.jsonl").replace("good-txt", "bad");
    write("tidegate.toml", &format!("{}{bad}", section("unnamed.txt", "good.jsonl")));
    let (code, out, err) = run(&["config", "check"], folder.path());
    assert_eq!((code, out.as_str()), (78, ""), "{err}");
    for (line, wanted) in [
        (1, "line 3: `model[0].file`: load `./unnamed.txt`: read model: columns: `Column_0` names"),
        (2, "line 8: `model[1].items`: load `./bad.jsonl`: read items: line 1: `price` must be a"),
    ] {
        assert!(err.lines().nth(line).unwrap().contains(wanted), "{err}");
    }
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
        forward = ["accept"]
        [[route]]
        name = "again"
        path = "/tight"
        to = "upstream:backend"
    "#;
    std::fs::write(&file, text).unwrap();
    let (code, out, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 0, "{err}");
    assert!(!out.contains("route `/tight` has"), "{out}");
    for note in [
        "no request comes to route `again`: all that it would match go to route `/tight` before",
        "`listen.admin`",
        "`/list` personalises",
        "`/read` collects",
        "absent.jsonl",
        "`/leaky` has a ttl and sends cookies on",
        "`/leaky` has a ttl and sends on all request headers but known overrides",
    ] {
        let said = out.lines().any(|line| line.starts_with("note: ") && line.contains(note));
        assert!(said, "no note of {note} in\n{out}");
    }
}

/// The app of the first route may read a user from the query; nobody says what it reads.
#[test]
fn a_route_that_may_store_one_users_answer_for_everybody_is_noted() {
    let folder = testkit::TempDir::new().unwrap();
    let route = |name: &str, user: &str, rest: &str| {
        format!(
            "[[route]]\npath = \"/{name}\"\nto = \"upstream:backend\"\n\
             personalise = {{ user = \"{user}\"{rest}\n"
        )
    };
    let text = ["[[upstream]]\nname = \"backend\"\nservers = [\"127.0.0.1:1\"]\n".to_owned()]
        .into_iter()
        .chain([
            route("open", "cookie:sid", " }\ncache = {}"),
            route("named", "cookie:sid", ", identifies = [\"query:user\"] }\ncache = {}"),
            route("nothing", "cookie:sid", ", identifies = [] }\ncache = {}"),
            route("keeps", "cookie:sid", " }\ncache = {}\nkey = { keep = [\"page\"] }"),
            route("query", "query:user", " }\ncache = {}"),
            route("stores-nothing", "cookie:sid", " }"),
        ])
        .collect::<String>();
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    let (code, out, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 0, "{err}");
    let noted: Vec<&str> = out.lines().filter(|line| line.contains("whole query")).collect();
    assert_eq!(noted.len(), 1, "{out}");
    for part in ["route `/open` personalises", "`personalise.identifies`", "key = { keep = […] }"]
    {
        assert!(noted[0].contains(part), "{}", noted[0]);
    }
}

#[test]
fn routes_that_do_not_do_what_they_say_are_noted() {
    let folder = testkit::TempDir::new().unwrap();
    let text = r#"
        [[upstream]]
        name = "backend"
        servers = ["127.0.0.1:1"]
        [[route]]
        host = "a.test"
        path = "/same"
        to = "upstream:backend"
        [[route]]
        host = "b.test"
        path = "/same"
        to = "upstream:backend"
        [[route]]
        path = "/a//b"
        to = "upstream:backend"
        personalise = { user = "cookie:userId", rollout = "80%", hold_out = "30%" }
        [[route]]
        path = "/usual/"
        to = "upstream:backend"
        personalise = { user = "cookie:userId", hold_out = "5%" }
    "#;
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    let (code, out, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 0, "{err}");
    for note in [
        "several routes are called `/same`",
        "route `/a//b` matches only paths with two slashes in a row",
        "route `/a//b`: `rollout` 80% and `hold_out` 30% are more than all users",
    ] {
        assert_eq!(out.matches(note).count(), 1, "{note} in\n{out}");
    }
    assert!(!out.contains("`/usual/` matches") && !out.contains("route `/usual/`: "), "{out}");
}

/// The line of the reference that sets a key, the comment before it, and where it is.
fn keys_of(reference: &str) -> Vec<(usize, String, String)> {
    let mut keys = Vec::new();
    let mut comment = String::new();
    for (at, line) in reference.lines().enumerate() {
        let Some(text) = line.strip_prefix("# ") else {
            comment.clear();
            continue;
        };
        match text.split_once(" = ").filter(|(path, _)| !path.contains([' ', '`'])) {
            Some(_) => {
                keys.push((at, text.to_owned(), comment.trim().to_owned()));
                comment.clear();
            }
            None => comment = format!("{comment} {text}"),
        }
    }
    keys
}

/// The default that a comment names in backticks or as a number.
fn default_in(comment: &str) -> Option<&str> {
    let quoted =
        |text: &'static str| comment.split_once(text).and_then(|(_, rest)| rest.split('`').next());
    let before = comment.split_once("` (default").and_then(|(text, _)| text.rsplit('`').next());
    let number = comment.split_once("efault ").map(|(_, rest)| {
        rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default()
    });
    let named = before.or_else(|| quoted("efault `")).or_else(|| quoted("efault: `"));
    named.or(number.filter(|number| !number.is_empty()))
}

/// The last name in a line that sets a key, such as `kind` of `backend = [{ kind = "x" }]`.
fn name_in(line: &str) -> &str {
    let path = line.rsplit_once(" = ").map_or(line, |(path, _)| path);
    path.rsplit([' ', '.']).next().unwrap_or(path)
}

/// Such keys have a default for another kind of table than the one that stands there.
const OF_OTHERS: [&str; 2] = ["means nothing to a model of texts", "goes with `golden`"];

#[test]
fn every_default_that_the_reference_prints_is_taken_where_it_stands() {
    let folder = testkit::TempDir::new().unwrap();
    let file = folder.path().join("tidegate.toml");
    let (_, reference, _) = run(&["config", "reference"], folder.path());
    // `python` makes an upstream one of workers, which has other keys.
    let reference = reference.replace("\n# python = \"…\"", "\npython = \"app:app\"");
    let lines: Vec<&str> = reference.lines().collect();
    let keys = keys_of(&reference);
    let is_key = |text: &str| keys.iter().any(|(_, line, _)| name_in(line) == text);
    let (mut tried, mut refused) = (0, Vec::new());
    for (at, key, comment) in &keys {
        // Some are at the value of another key.
        let Some(default) = default_in(comment).filter(|default| !is_key(default)) else {
            continue;
        };
        let stand_ins = [("\"…\"", format!("'{default}'")), ("0", default.to_owned())];
        let mut stand_ins = stand_ins.into_iter().chain([("false", default.to_owned())]);
        let found = stand_ins.find(|(stand_in, _)| key.contains(stand_in));
        let Some((stand_in, value)) = found else { continue };
        let set = key.replacen(stand_in, &value, 1);
        let mut document = lines.clone();
        document[*at] = &set;
        std::fs::write(&file, document.join("\n")).unwrap();
        let (_, _, err) = run(&["config", "check"], folder.path());
        let is_wrong = |line: &&str| {
            let said = line.strip_prefix(&format!("  line {}: `", at + 1));
            let (key, reason) = said.and_then(|said| said.split_once("`: ")).unwrap_or_default();
            key.rsplit('.').next() == Some(name_in(&set))
                && !OF_OTHERS.iter().any(|other| reason.starts_with(other))
        };
        let wrong = err.lines().filter(is_wrong);
        refused.extend(wrong.map(|reason| format!("{set}: {reason}")));
        tried += 1;
    }
    assert_eq!(refused, [""; 0]);
    assert!(tried > 90, "{tried} defaults");
}

/// Names that are not there: a configuration, the line, and what is said of it.
const ABSENT: [(&str, usize, &str); 12] = [
    ("[node]\nname = \"a\"", 1, "`node`: is no section; write `node = …` above the first section"),
    (
        "[listen]\nnode = \"a\"",
        2,
        "`listen.node`: belongs to no section; write it above the first one",
    ),
    (
        "[[route]]\npath = \"/\"\nto = \"models\"\nwhen = 'decision == \"personalised\"'",
        4,
        "`route[0].when`: `decision` is not known when a route is chosen, so it matches \
         nothing; there are method, scheme, host, path, query, query.NAME, header.NAME, version, \
         client_ip",
    ),
    (
        "[[route]]\npath = \"/\"\nto = \"models\"\nwhen = 'path ~ \"x\" or phase.score > 1ms'",
        4,
        "`route[0].when`: `phase.score` is not known when a route is chosen, so it matches \
         nothing; there are method, scheme, host, path, query, query.NAME, header.NAME, version, \
         client_ip",
    ),
    (
        "[[route]]\npath = \"/item/<n>\"\nto = \"models\"",
        2,
        "`route[0].path`: `<n>` is the pattern of another program; write `{n}`",
    ),
    (
        "[[route]]\npath = \"/item/:n\"\nto = \"models\"",
        2,
        "`route[0].path`: `:n` is the pattern of another program; write `{n}`",
    ),
    (
        "[[route]]\npath = \"/\"\nto = \"models\"\nmethods = [\"GTE\"]",
        4,
        "`route[0].methods`: `GTE`: did you mean `GET`?",
    ),
    (
        "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n[[route]]\npath = \"/\"\n\
             to = \"upstream:a\"\nupgrade = [\"websockt\"]",
        7,
        "`route[0].upgrade`: `websockt`: did you mean `websocket`?",
    ),
    (
        "[[route]]\npath = \"/\"\nto = \"models\"\nrecord = \"ful\"",
        4,
        "`route[0].record`: `ful` is none of full, brief, off, or a share such as `sample:0.1`",
    ),
    (
        "[statsd]\nstatistics = [\"maen\"]",
        2,
        "`statsd.statistics`: `maen` is no statistic; did you mean `mean`?",
    ),
    (
        "[profiles]\nfile = \"p.db\"\ndatabase = \"sqlite:x.db\"",
        3,
        "`profiles.database`: is named, but there is no `query` to run in it",
    ),
    (
        "[profiles]\nfile = \"p.db\"\nquery = \"SELECT 1\"\ndatabase = \"kafka://h:1/x\"",
        4,
        "`profiles.database`: `kafka` runs no query; SQLite, PostgreSQL, MariaDB and MySQL do",
    ),
];

#[test]
fn names_that_are_not_there_are_errors_with_the_way_out() {
    let folder = testkit::TempDir::new().unwrap();
    let file = folder.path().join("tidegate.toml");
    for (text, line, expected) in ABSENT {
        std::fs::write(&file, text).unwrap();
        let (code, _, err) = run(&["config", "check"], folder.path());
        assert_eq!(code, 78, "{text}: {err}");
        let said: Vec<&str> = err.lines().filter(|said| said.starts_with("  line ")).collect();
        assert_eq!(said, [format!("  line {line}: {expected}")], "{text}");
    }
}

#[test]
fn users_that_nothing_names_are_noted_before_they_are_counted() {
    let folder = testkit::TempDir::new().unwrap();
    let text = |route: &str| {
        format!(
            "[journal]\n[[sink]]\nname = \"main\"\nurl = \"sqlite:x.db\"\n[[rollup]]\n\
             name = \"hits\"\nby = [\"minute\"]\nunique = [\"user\"]\n[[route]]\n\
             path = \"/read\"\ncollect = \"only\"\n{route}"
        )
    };
    for (route, notes) in [("", 1), ("personalise = { user = \"cookie:id\" }\n", 0)] {
        std::fs::write(folder.path().join("tidegate.toml"), text(route)).unwrap();
        let (code, out, err) = run(&["config", "check"], folder.path());
        assert_eq!(code, 0, "{err}");
        assert_eq!(out.matches("rollup `hits` will count 0 users").count(), notes, "{out}");
    }
}

#[test]
fn the_file_to_check_or_print_may_stand_alone() {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::write(folder.path().join("other.toml"), "[listen]\n").unwrap();
    let (code, out, err) = run(&["config", "check", "other.toml"], folder.path());
    assert!(code == 0 && out.contains("other.toml: no errors"), "{out}{err}");
    let (code, out, err) = run(&["config", "print", "other.toml"], folder.path());
    assert!(code == 0 && out.starts_with("[listen]"), "{out}{err}");
    let (code, _, err) = run(&["config", "check", "other.toml", "-c", "b.toml"], folder.path());
    assert!(code == 2 && err.contains("cannot be used with"), "{err}");
    let (code, _, err) = run(&["serve", "absent.toml"], folder.path());
    assert!(code == 78 && err.contains("read the configuration `absent.toml`"), "{err}");
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

#[test]
fn two_listeners_of_one_address_are_found_before_they_start() {
    let folder = testkit::TempDir::new().unwrap();
    for (text, key) in [
        ("[listen]\npublic = \"127.0.0.1:9\"\nadmin = \"127.0.0.1:9\"\n", "listen.admin"),
        ("[listen]\npublic = \"0.0.0.0:8081\"\n", "listen.admin"),
        ("[events]\nstatus = \"127.0.0.1:8081\"\n", "events.status"),
        ("[statsd]\nmanagement = \"127.0.0.1:8080\"\n", "statsd.management"),
    ] {
        std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
        let (code, _, err) = run(&["config", "check"], folder.path());
        assert_eq!(code, 78, "{text}");
        assert_eq!(err.lines().count(), 2, "{err}");
        assert!(err.contains(&format!("`{key}`: is ")) && err.contains("another port"), "{err}");
    }
    let text = "[listen]\npublic = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n";
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    assert_eq!(run(&["config", "check"], folder.path()).0, 0, "0 is any free port");
}

#[test]
fn a_misspelt_bucket_of_time_is_told_the_right_one() {
    let folder = testkit::TempDir::new().unwrap();
    for (name, bucket) in [("minut", "minute"), ("days", "day"), ("sec", "second")] {
        let text = format!(
            "[journal]\n[[sink]]\nname = \"db\"\nurl = \"sqlite:events.db\"\n\
             [[rollup]]\nname = \"r\"\nby = [\"{name}\"]\n"
        );
        std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
        let (code, _, err) = run(&["config", "check"], folder.path());
        assert_eq!(code, 78, "{err}");
        assert!(err.contains(&format!("no field `{name}`; did you mean `{bucket}`")), "{err}");
    }
}

#[test]
fn a_rollup_of_what_no_line_has_or_what_is_no_number_is_an_error() {
    let folder = testkit::TempDir::new().unwrap();
    let check = |format: &str, rollup: &str| {
        let text = format!(
            "[[source]]\nname = \"web\"\nfiles = [\"access.log\"]\n{format}\n\
             [[sink]]\nname = \"db\"\nurl = \"sqlite:events.db\"\n\
             [[rollup]]\nname = \"r\"\n{rollup}\n"
        );
        std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
        let (code, _, err) = run(&["config", "check"], folder.path());
        (code, err)
    };
    let nginx = "format = '$remote_addr [$time_local] \"$request\" $http_x_user $rt_x'";
    let wrong = [
        (nginx, "by = [\"header.x_user\"]", "has `header.x-user`, `var.rt_x`"),
        (nginx, "by = [\"var.nosuch\"]", "no line has `var.nosuch`"),
        ("", "by = [\"header.x-user\"]", "no header or variable of its own"),
        (nginx, "by = [\"host\"]\nwhere = 'var.nosuch == \"a\"'", "no line has `var.nosuch`"),
        (
            nginx,
            "by = [\"mine\"]\n[[field]]\nname = \"mine\"\nfrom = \"header.x_user\"",
            "no line has `header.x_user`",
        ),
        (nginx, "by = [\"host\"]\nsum = [\"path\"]", "`path` is no number"),
        (nginx, "by = [\"host\"]\nquantiles = [\"user\"]", "`user` is no number"),
    ];
    for (format, rollup, reason) in wrong {
        let (code, err) = check(format, rollup);
        assert_eq!(code, 78, "{rollup}: {err}");
        assert!(err.contains(reason), "{rollup}: {err}");
    }
    for (format, rollup) in [
        (nginx, "by = [\"header.x-user\", \"query.a\"]\nsum = [\"var.rt_x\"]"),
        ("format = \"json\"", "by = [\"header.x-user\", \"var.any\"]"),
    ] {
        let (code, err) = check(format, rollup);
        assert_eq!(code, 0, "{rollup}: {err}");
    }
}

#[test]
fn sections_that_cannot_both_have_their_way_are_errors() {
    let folder = testkit::TempDir::new().unwrap();
    let file = folder.path().join("tidegate.toml");
    for (text, reason) in [
        (
            "[listen]\nadmin = \"0.0.0.0:8081\"\nadmin_token = \"x\"",
            "`listen.admin_token`: is too short for 0.0.0.0:8081, which other machines reach",
        ),
        (
            "listen.admin_token = \"passwörter-und-mehr\"",
            "`listen.admin_token`: has characters beyond ASCII, or blanks at an end",
        ),
        ("[cores]\nedge = 100000", "`cores.edge`: is 100000; write at most 1024"),
        (
            "[journal]\ndir = \"data/x\"\n[cache]\ndisk = { dir = \"data/x\" }",
            "`cache.disk.dir`: is",
        ),
        (
            "[listen]\npublic = \"0.0.0.0:8080\"\n[[upstream]]\nname = \"me\"\n\
             servers = [\"127.0.0.1:8080\"]",
            "`listen.public`: is 0.0.0.0:8080, where the upstream `me` has its server",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, _, err) = run(&["config", "check"], folder.path());
        assert_eq!(code, 78, "{text}: {err}");
        assert!(err.contains(reason), "{text}: {err}");
    }
}
