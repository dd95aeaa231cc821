//! Claims about the command line.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use crate::running::{BINARY, Running, run};

#[test]
fn every_command_explains_itself() {
    let folder = testkit::TempDir::new().unwrap();
    for command in [
        &["--help"][..],
        &["serve", "--help"],
        &["demo", "--help"],
        &["config", "reference"],
        &["config", "explain", "--help"],
        &["config", "init", "--help"],
        &["events", "query", "--help"],
        &["profiles", "build", "--help"],
        &["model", "score", "--help"],
        &["rollout", "set", "--help"],
        &["health", "--help"],
        &["lab", "probe", "--help"],
        &["traffic", "--help"],
    ] {
        let (code, out, _) = run(command, folder.path());
        assert_eq!(code, 0, "{command:?}");
        assert!(out.len() > 100, "{command:?}: {out}");
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let folder = testkit::TempDir::new().unwrap();
    assert_eq!(run(&["serv"], folder.path()).0, 2);
    assert_eq!(run(&["config", "check", "--nonsense"], folder.path()).0, 2);
    assert_eq!(run(&["rollout", "set"], folder.path()).0, 2);
    assert_eq!(run(&["health", "well"], folder.path()).0, 2);
    assert_eq!(run(&["rollout", "set", "--kill", "perhaps"], folder.path()).0, 2);
}

#[test]
fn an_address_that_something_listens_on_is_refused_with_a_hint() {
    let folder = testkit::TempDir::new().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for taken_one in 0..3 {
        let mut addresses = [const { "127.0.0.1:0" }; 3];
        addresses[taken_one] = &taken;
        let [public, admin, management] = addresses;
        let (code, _, err) = run(
            &["demo", "--seconds", "1", "--statsd", "127.0.0.1:0"]
                .into_iter()
                .chain(["--public", public, "--admin", admin, "--management", management])
                .collect::<Vec<_>>(),
            folder.path(),
        );
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("listen on `") && err.contains(&format!("{taken}`")), "{err}");
        assert!(err.contains("\nhint: "), "{err}");
    }
}

#[test]
fn the_reference_has_keys_of_no_section_before_all_sections() {
    let folder = testkit::TempDir::new().unwrap();
    let (_, out, _) = run(&["config", "reference"], folder.path());
    assert!(!out.contains("[node]"), "{out}");
    let node = out.find("\n# node = ").expect("the key is there");
    assert!(node < out.find("\n[").expect("sections are there"), "{out}");
}

#[test]
fn the_reference_names_every_section_with_its_keys() {
    let folder = testkit::TempDir::new().unwrap();
    let (_, out, _) = run(&["config", "reference"], folder.path());
    for text in [
        "[journal]",
        "[[route]]",
        "[[upstream]]",
        "[[model]]",
        "[profiles]",
        "[listen]",
        "# personalise.rollout",
        "# cache.ttl",
        "# health.threshold",
        "# compress.encodings",
        "# to = [{ share = ",
        "# key.segments = [{ values = ",
        "# candidates = [{ name = ",
        "default `1s`",
    ] {
        assert!(out.contains(text), "no {text} in\n{out}");
    }
}

#[test]
fn a_model_can_be_inspected_and_asked_from_the_command_line() {
    let news = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/news");
    let folder = std::path::Path::new(news);
    let (code, out, err) = run(&["model", "inspect", "model.json"], folder);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("item.popularity"), "{out}");
    let (code, _, err) = run(&["model", "inspect", "items.jsonl"], folder);
    assert_eq!(code, 1);
    assert!(err.starts_with("error: ") && err.contains("items.jsonl"), "{err}");
}

/// Whether a terminal would take something of it for a command.
fn commands_a_terminal(text: &str) -> bool {
    text.chars().any(|one| one.is_control() && one != '\n' && one != '\t')
}

#[test]
fn what_files_and_answers_say_sends_no_command_to_a_terminal() {
    const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{9b}2J";
    let folder = testkit::TempDir::new().unwrap();
    let folder = folder.path();
    let escaped = "\\u001b]0;owned\\u0007\\u009b2J";
    let model = format!(
        r#"{{"format":"tidegate-linear-1","name":"{escaped}","version":"{escaped}","intercept":0.5,
        "features":[{{"name":"item.{escaped}","weight":1.0}}]}}"#
    );
    std::fs::write(folder.join("model.json"), model).unwrap();
    let file = rusqlite::Connection::open(folder.join("profiles.db")).unwrap();
    let table = "CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text)";
    file.execute_batch(table).unwrap();
    file.execute("INSERT INTO user_profiles VALUES (?1, ?1)", [HOSTILE]).unwrap();
    file.close().unwrap();
    let route = format!("[[route]]\nname = \"{escaped}\"\npath = \"/\"\nto = \"models\"\n");
    let config = format!("{route}personalise = {{ user = \"cookie:a\", rollout = \"5%\" }}\n");
    std::fs::write(folder.join("tidegate.toml"), config).unwrap();
    std::fs::write(folder.join("plain.toml"), "# ?]0;owned \u{9b}2J\n").unwrap();
    let refused = format!("[[route]]\npath = \"{escaped}\"\nto = \"{escaped}\"\n");
    std::fs::write(folder.join("wrong.toml"), refused).unwrap();
    for arguments in [
        &["model", "inspect", "model.json"][..],
        &["profiles", "inspect", "profiles.db"],
        &["profiles", "inspect", "profiles.db", "--user", HOSTILE],
        &["profiles", "check", "profiles.db"],
        &["config", "check"],
        &["config", "explain"],
        &["config", "explain", HOSTILE],
        &["config", "check", "-c", "wrong.toml"],
        &["config", "print", "-c", "plain.toml"],
        &["config", "init", "new.toml", "--upstream", HOSTILE],
        &["explain", HOSTILE],
        &["serve", HOSTILE],
    ] {
        let (_, out, err) = run(arguments, folder);
        assert!(!commands_a_terminal(&out), "{arguments:?}: {out:?}");
        assert!(!commands_a_terminal(&err), "{arguments:?}: {err:?}");
        let said = out + &err;
        assert!(said.contains("]0;owned"), "{arguments:?}: {said:?}");
    }
    let mut command = Command::new(BINARY);
    command.args(["config", "init", "new.toml"]).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(HOSTILE.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("?]0;owned") && !commands_a_terminal(&err), "{err:?}");
}

#[test]
fn the_environment_of_a_container_names_the_port_the_level_and_json_lines() {
    let folder = testkit::TempDir::new().unwrap();
    let admin = testkit::free_port();
    let config = format!("[listen]\nadmin = \"127.0.0.1:{admin}\"\n");
    std::fs::write(folder.path().join("tidegate.toml"), config).unwrap();
    let port = testkit::free_port();
    let serve = |level: &str| {
        let mut command = Command::new(BINARY);
        command.arg("serve").current_dir(folder.path());
        command.env("PORT", port.to_string()).env("JSON_LOGS", "True").env("LOG_LEVEL", level);
        let public = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        let mut server = testkit::Server::spawn(command, public).unwrap();
        server.signal("TERM").unwrap();
        assert!(server.wait().unwrap().success());
        server.stderr()
    };
    let said = serve("info");
    for line in said.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect(&said);
        assert_eq!(line["level"], "INFO", "{line}");
    }
    assert!(said.contains("\"message\":\"stopped\""), "{said}");
    assert_eq!(serve("WARNING"), "");
}

#[test]
fn a_variable_of_a_container_that_cannot_be_read_is_an_error_that_names_it() {
    let folder = testkit::TempDir::new().unwrap();
    let config = "[[upstream]]\nname = \"app\"\npython = \"main:app\"\n";
    std::fs::write(folder.path().join("tidegate.toml"), config).unwrap();
    let check = |variables: &[(&str, &str)]| {
        let mut command = Command::new(BINARY);
        command.args(["config", "check"]).current_dir(folder.path());
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    for (name, value) in [
        ("MAX_WORKERS", "abc"),
        ("WEB_CONCURRENCY", "-1"),
        ("WEB_CONCURRENCY", "0"),
        ("PORT", "http"),
        ("BIND", "unix:/run/app.sock"),
        ("TIMEOUT", "60s"),
        ("GRACEFUL_TIMEOUT", "long"),
        ("KEEP_ALIVE", "yes"),
    ] {
        let (code, text) = check(&[(name, value)]);
        assert_eq!(code, Some(78), "{name}: {text}");
        assert!(text.contains(name) && text.contains(value), "{name}: {text}");
    }
    let all = [
        ("MAX_WORKERS", "2"),
        ("WEB_CONCURRENCY", "4"),
        ("BIND", ":8000"),
        ("TIMEOUT", "0"),
        ("GRACEFUL_TIMEOUT", "120"),
        ("KEEP_ALIVE", "5"),
        ("WORKERS_PER_CORE", "1"),
    ];
    std::fs::write(folder.path().join("prestart.sh"), "").unwrap();
    let (code, text) = check(&all);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("`WORKERS_PER_CORE` of the environment means nothing here"), "{text}");
    assert!(text.contains("`TIMEOUT=0` of the environment is not taken over"), "{text}");
    assert!(text.contains("prestart.sh` is not run"), "{text}");
}

#[test]
fn a_command_that_prints_ends_silently_when_its_reader_leaves() {
    let folder = testkit::TempDir::new().unwrap();
    for arguments in [&["config", "reference"][..], &["statsd", "eval"]] {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let mut input = child.stdin.take().unwrap();
        // The other command reads nothing.
        let _ = input.write_all("jobs.done:1|c\n".repeat(1000).as_bytes());
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.signal(), Some(13), "{arguments:?}: {:?}", output.status);
    }
}

#[test]
fn every_example_that_asks_the_management_port_ends_its_side_of_the_connection() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = ["README.md", "docs/STATSD.md", "examples/news/tidegate.toml"];
    let mut texts = files.map(|file| std::fs::read_to_string(root.join(file)).unwrap()).to_vec();
    texts.push(run(&["statsd", "--help"], &root).1);
    for text in texts {
        let asks = |line: &&str| line.contains("8126") && line.contains("echo ");
        let lines: Vec<&str> = text.lines().filter(asks).collect();
        assert!(!lines.is_empty(), "no example in {text}");
        lines.iter().for_each(|line| assert!(line.contains("nc -N 127.0.0.1 8126"), "{line}"));
    }
}

#[test]
fn a_running_server_is_found_by_its_configuration() {
    let route = "[[route]]\npath = \"/\"\nto = \"models\"\n";
    let running = Running::start(route, |_| {});
    let folder = running.folder.path();
    for command in [&["rollout", "show"], &["workers", "list"]] {
        let with = [&command[..], &["-c", "tidegate.toml"]].concat();
        let (code, _, err) = run(&with, folder);
        assert_eq!((code, err.as_str()), (0, ""), "{command:?}");
    }
    let both = ["workers", "list", "-c", "tidegate.toml", "--admin", "127.0.0.1:8081"];
    assert_eq!(run(&both, folder).0, 2);
    let (code, _, err) = run(&["rollout", "show", "-c", "absent.toml"], folder);
    assert_eq!(code, 78, "{err}");
}

#[test]
fn a_configuration_with_an_error_hides_no_running_server() {
    let route = "[[route]]\npath = \"/\"\nto = \"models\"\n";
    let running = Running::start(route, |_| {});
    let folder = running.folder.path();
    std::fs::write(folder.join("tidegate.toml"), "[[rout]]\n").unwrap();
    let hint = "\nhint: `--admin IP:PORT` still reaches a running server; ";
    let admin = running.admin.to_string();
    for (command, file) in [
        (&["explain", "/"][..], &[][..]),
        (&["rollout", "show"], &["-c", "tidegate.toml"]),
        (&["workers", "list"], &["-c", "tidegate.toml"]),
        // Not the server at the usual address, which may be another one.
        (&["rollout", "show"], &[]),
        (&["workers", "list"], &[]),
    ] {
        let (code, _, err) = run(&[command, file].concat(), folder);
        assert_eq!(code, 78, "{command:?}: {err}");
        assert!(err.starts_with("tidegate.toml: 1 error\n"), "{err}");
        assert!(err.contains(hint), "{command:?}: {err}");
        let (code, _, err) = run(&[command, &["--admin", &admin]].concat(), folder);
        assert_eq!(code, 0, "{command:?}: {err}");
    }
    // The option does not help here, or there is none.
    for command in [
        &["explain", "/", "--offline"][..],
        &["explain", "--user", "a", "--since", "1h"],
        &["explain", "--request", "0af7651916cd43dd8448eb211c80319c"],
        &["events", "status"],
        &["config", "check"],
    ] {
        let (code, _, err) = run(command, folder);
        assert_eq!(code, 78, "{command:?}: {err}");
        assert!(!err.contains("hint: "), "{command:?}: {err}");
    }
}

#[test]
fn the_token_of_a_server_is_read_from_its_configuration() {
    let folder = testkit::TempDir::new().unwrap();
    let [public, admin] = [(); 2].map(|()| format!("127.0.0.1:{}", testkit::free_port()));
    let file = folder.path().join("tidegate.toml");
    let listen = format!("[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n");
    std::fs::write(&file, format!("{listen}admin_token = \"hush\"\n")).unwrap();
    let mut command = Command::new(BINARY);
    command.args(["serve", "-c"]).arg(&file);
    let _server = testkit::Server::spawn(command, admin.parse().unwrap()).unwrap();
    let (code, _, err) = run(&["workers", "list", "-c", "tidegate.toml"], folder.path());
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = run(&["workers", "list", "--admin", &admin], folder.path());
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("-c FILE"), "{err}");
}
