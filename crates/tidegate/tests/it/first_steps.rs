//! Claims about what a newcomer asks first: a configuration, what it does, what its keys are.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use testkit::{Client, Origin, OriginReply, Server, TempDir, free_port};

use crate::running::{BINARY, run, until};

#[test]
fn a_first_configuration_passes_the_check_and_is_served() {
    let origin = Origin::start(|_| OriginReply::ok("from behind"));
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let public = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (behind, address) = (origin.address().to_string(), public.to_string());
    let options = ["--upstream", &behind, "--cache", "60s", "--public", &address, "--defaults"];
    let (code, out, err) = run(&[&["config", "init"], &options[..]].concat(), folder);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("tidegate.toml: written\n"), "{out}");
    let (code, out, err) = run(&["config", "check"], folder);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(out, "tidegate.toml: no errors\n");

    let file = folder.join("tidegate.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    // Tests beside this one take the usual address.
    let admin = format!("127.0.0.1:{}", free_port());
    std::fs::write(&file, text.replace("127.0.0.1:8081", &admin)).unwrap();
    let mut command = Command::new(BINARY);
    command.arg("serve").current_dir(folder);
    let _server = Server::spawn(command, public).unwrap();
    assert_eq!(Client::get(public, "/x").send().text(), "from behind");
    let again = Client::get(public, "/x").send();
    let status = again.header("cache-status").unwrap_or_default().to_owned();
    assert!(status.contains("hit"), "{status}");
    until("the request to be counted", || {
        let query = ["events", "query", "requests", "--by", "", "--format", "json"];
        let (_, out, _) = run(&query, folder);
        out.contains("\"count\": 2")
    });
}

#[test]
fn the_configuration_of_the_readme_lacks_nothing_but_its_profile_file() {
    let readme = include_str!("../../../../README.md");
    let (_, block) = readme.split_once("tidegate.toml` runs it:\n\n```toml\n").unwrap();
    let (text, _) = block.split_once("```").unwrap();
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    let (code, out, err) = run(&["config", "check"], folder.path());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let notes: Vec<&str> = out.lines().filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(notes.len(), 1, "{out}");
    assert!(notes[0].contains("data/profiles.db` is not there yet"), "{out}");
}

#[test]
fn a_log_is_counted_by_a_first_configuration() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let line = "192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"-\"\n";
    std::fs::write(folder.join("access.log"), line.repeat(3)).unwrap();
    let (code, _, err) = run(&["config", "init", "--log", "access.log*", "--defaults"], folder);
    assert_eq!(code, 0, "{err}");
    assert_eq!(run(&["events", "run", "--once"], folder).0, 0);
    let (_, out, _) = run(&["events", "query", "requests", "--format", "csv"], folder);
    assert!(out.ends_with("2026-11-21T10:00:00Z,200,3,15,1\n"), "{out}");
}

#[test]
fn nothing_is_overwritten_unless_it_is_said() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let file = folder.join("tidegate.toml");
    std::fs::write(&file, "# mine\n").unwrap();
    let (code, _, err) = run(&["config", "init", "--defaults"], folder);
    assert_eq!(code, 1);
    assert!(err.contains("`tidegate.toml` is there") && err.contains("\nhint: `--force`"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n");
    // A wrong answer leaves it, too.
    let (code, _, err) = run(&["config", "init", "--force", "--cache", "soon"], folder);
    assert_eq!(code, 2);
    assert!(err.contains("`soon` is no answer to"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n");
    let (code, _, err) = run(&["config", "init", "--defaults", "--force"], folder);
    assert_eq!(code, 0, "{err}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("[[route]]"));
}

#[test]
fn a_file_that_is_written_by_force_replaces_a_link_and_waits_for_nothing() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (link, precious) = (folder.join("tidegate.toml"), folder.join("precious"));
    std::fs::write(&precious, "mine").unwrap();
    std::fs::set_permissions(&precious, Permissions::from_mode(0o666)).unwrap();
    for target in ["precious", "nowhere"] {
        symlink(target, &link).unwrap();
        let (code, _, err) = run(&["config", "init", "--defaults"], folder);
        assert_eq!(code, 1, "{target}");
        assert!(err.contains("`tidegate.toml` is there"), "{target}: {err}");
        let (code, _, err) = run(&["config", "init", "--defaults", "--force"], folder);
        assert_eq!(code, 0, "{target}: {err}");
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "mine");
        assert!(!folder.join("nowhere").exists());
        let found = std::fs::symlink_metadata(&link).unwrap();
        assert!(found.is_file(), "{target}");
        assert_eq!(found.permissions().mode() & 0o777 & !0o640, 0, "{target}");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2, "nothing else stays");
        std::fs::remove_file(&link).unwrap();
    }
    // A file keeps its mode.
    std::fs::write(&link, "").unwrap();
    std::fs::set_permissions(&link, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(run(&["config", "init", "--defaults", "--force"], folder).0, 0);
    let found = std::fs::symlink_metadata(&link).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    symlink("fifo", folder.join("to-fifo")).unwrap();
    for place in ["fifo", "to-fifo", "/dev/null", "/dev/stdout", "."] {
        let (code, out, err) = run(&["config", "init", place, "--defaults", "--force"], folder);
        assert_eq!((code, out.as_str()), (1, ""), "{place}");
        assert!(err.contains("it is no regular file"), "{place}: {err}");
    }
    let (code, _, err) = run(
        &["events", "export", "--training", "--feedback", "path == \"/\"", "-o", "fifo"],
        folder,
    );
    assert_eq!(code, 1);
    assert!(err.contains("write `fifo`: it is no regular file"), "{err}");
}

#[test]
fn a_configuration_and_its_keys_are_explained() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (_, _, err) = run(&["config", "explain"], folder);
    assert!(err.contains("read the configuration `tidegate.toml`"), "{err}");
    assert_eq!(run(&["config", "init", "--defaults"], folder).0, 0);
    for arguments in [&["config", "explain"][..], &["config", "explain", "tidegate.toml"]] {
        let (code, out, err) = run(arguments, folder);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("- Clients are answered at 127.0.0.1:8080."), "{out}");
        assert!(out.contains("Upstream `backend`: 127.0.0.1:9000."), "{out}");
    }
    let (code, out, err) = run(&["config", "explain", "route.cache.ttl"], folder);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("  default   the origin's\n"), "{out}");
    let (code, _, err) = run(&["config", "explain", "route.cache.tll"], folder);
    assert_eq!(code, 1);
    assert_eq!(err, "error: there is no key `route.cache.tll`; did you mean `route.cache.ttl`?\n");
}

#[test]
fn the_reference_is_read_by_section_and_by_word() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let ask = |more: &[&str]| run(&[&["config", "reference"], more].concat(), folder);
    let (_, all, _) = ask(&[]);
    let (_, route, _) = ask(&["route"]);
    assert!(route.contains("\n[[route]]\n") && route.contains("# cache.ttl = "), "{route}");
    assert!(!route.contains("[[sink]]"), "{route}");
    assert!(route.lines().chain(all.lines()).all(|line| line.chars().count() <= 80), "{route}");
    let (_, cache, _) = ask(&["route.cache"]);
    assert!(cache.contains("# cache.ttl = ") && !cache.contains("# path = "), "{cache}");
    let (_, upstream, _) = ask(&["upstream"]);
    assert_eq!(upstream.matches("[[upstream]]").count(), 2, "servers and workers\n{upstream}");
    let (_, found, _) = ask(&["--grep", "TIMEOUT"]);
    assert!(found.contains("# drain_timeout = ") && !found.contains("# ttl_max = "), "{found}");
    for (more, expected) in [
        (&["rout"][..], "there is no section `rout`; did you mean `route`?"),
        (&["node"], "`node` is a key of no section; ask `tidegate config explain node`"),
        (
            &["route.cach"],
            "[route] has no key `cach`; `tidegate config reference route` lists them",
        ),
        (&["--grep", "zebra"], "no key here names `zebra`"),
    ] {
        let (code, _, err) = ask(more);
        assert_eq!((code, err), (1, format!("error: {expected}\n")));
    }
}
