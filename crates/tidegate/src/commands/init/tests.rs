//! Claims about the configuration that answers make.

use super::*;

fn asker(lines: &str, is_terminal: bool) -> Asker<io::Cursor<String>> {
    let input = io::Cursor::new(lines.to_owned());
    Asker { input, is_terminal, takes_defaults: false, asked: 0 }
}

fn options() -> InitArgs {
    InitArgs {
        file: "tidegate.toml".into(),
        upstream: None,
        log: None,
        cache: None,
        user: None,
        sink: None,
        public: None,
        admin: None,
        defaults: false,
        force: false,
    }
}

#[test]
fn whatever_is_answered_passes_the_check() {
    for lines in [
        "",
        "127.0.0.1:9000, 10.0.0.2:80\n60s\ncookie:userId\nsqlite:x.db\n0.0.0.0:80\n",
        "main:app\nnone\nnone\nnone\n",
        "none\n/var/log/a.log, b \"c\".log\nsqlite:x.db\n",
        "localhost:1\norigin\nheader:x-user\npostgres://a:b@127.0.0.1/db\n",
    ] {
        let mut asker = asker(lines, false);
        let answers = asker.answers(&options()).unwrap();
        assert!(asker.asked <= 5, "{} questions", asker.asked);
        let text = written(&answers);
        if let Err(problems) = config::check(&text, Path::new(".")) {
            panic!("{text}\n{problems:?}");
        }
    }
}

#[test]
fn a_file_has_no_note_but_what_only_the_operator_knows_of_a_user() {
    let of_users = [
        "personalises, but without [profiles] everybody gets the generic answer",
        "name what tells your app who asks in `personalise.identifies`",
    ];
    for cache in ["none", "origin", "60s"] {
        for (user, expected) in [("none", &of_users[..0]), ("cookie:id", &of_users[..])] {
            let mut asker = asker(&format!("127.0.0.1:9000\n{cache}\n{user}\n"), false);
            let text = written(&asker.answers(&options()).unwrap());
            let notes = notes::of(&config::check(&text, Path::new(".")).unwrap());
            let is_expected = |note: &&String| expected.iter().any(|part| note.contains(part));
            let others: Vec<&String> = notes.iter().filter(|note| !is_expected(note)).collect();
            assert!(others.is_empty(), "{text}\n{others:?}");
            // What the user is told of is told.
            assert_eq!(notes.is_empty(), user == "none", "{text}\n{notes:?}");
        }
    }
}

#[test]
fn without_an_answer_nothing_is_stored() {
    let mut asker = asker("", false);
    let text = written(&asker.answers(&options()).unwrap());
    assert!(!text.contains("cache"), "{text}");
}

#[test]
fn an_option_is_not_asked_for() {
    let mut asker = asker("cookie:id\n", false);
    let args = InitArgs {
        upstream: Some("127.0.0.1:7".into()),
        cache: Some("5s".into()),
        sink: Some("none".into()),
        public: Some("127.0.0.1:8".into()),
        admin: Some("127.0.0.1:9".into()),
        ..options()
    };
    let answers = asker.answers(&args).unwrap();
    assert_eq!(asker.asked, 1);
    let text = written(&answers);
    assert!(
        text.contains("servers = [\"127.0.0.1:7\"]") && text.contains("user = \"cookie:id\""),
        "{text}"
    );
    assert!(text.contains("admin  = \"127.0.0.1:9\""), "{text}");
    assert!(text.contains("ttl = \"5s\"") && !text.contains("rollup"), "{text}");
}

#[test]
fn a_wrong_answer_is_asked_for_again_where_somebody_sits() {
    let answers = asker("127.0.0.1:9000\nforever\n7s\n", true).answers(&options()).unwrap();
    assert_eq!(answers.cache, "7s");
    let error = asker("127.0.0.1:9000\nforever\n7s\n", false).answers(&options()).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("`forever` is no answer to \"How long"), "{error}");
    assert!(error.contains("is not a length of time"), "{error}");
}

#[test]
fn a_server_is_told_from_a_python_app() {
    for (answer, servers) in [
        ("http://127.0.0.1:22002/", "servers = [\"127.0.0.1:22002\"]"),
        ("http://a:1, b:2", "servers = [\"a:1\", \"b:2\"]"),
        ("127.0.0.1:22003x", "servers = [\"127.0.0.1:22003x\"]"),
        ("main:app", "python = \"main:app\""),
        ("shop.web:create_app", "python = \"shop.web:create_app\""),
    ] {
        let text = upstream(answer);
        assert!(text.contains(servers), "{answer}: {text}");
    }
}
