//! Secrets of a real folder, in the places where a configuration has secrets.

use std::fs;

use super::put_from;

const CONFIG: &str = "\
[listen]
admin_token = '${credential:token}'

[[sink]]
name = \"main\"
url = \"postgres://tidegate:${credential:database}@db/${credential:database}\" # as before
";

#[test]
fn a_secret_stands_where_it_is_named_and_no_line_moves() {
    let folder = testkit::TempDir::new().unwrap();
    fs::write(folder.path().join("token"), "a \"quoted\" \\ ü\n").unwrap();
    fs::write(folder.path().join("tidegate_database"), "pass").unwrap();
    let (filled, problems) = put_from(Some(folder.path()), CONFIG);
    assert_eq!(problems, []);
    let table: toml::Table = filled.parse().unwrap();
    assert_eq!(table["listen"]["admin_token"].as_str(), Some("a \"quoted\" \\ ü"));
    assert_eq!(table["sink"][0]["url"].as_str(), Some("postgres://tidegate:pass@db/pass"));
    assert_eq!(filled.lines().count(), CONFIG.lines().count());
    assert!(filled.contains("# as before"), "{filled}");
}

#[test]
fn every_secret_that_is_missing_is_named_with_its_line_and_key() {
    let folder = testkit::TempDir::new().unwrap();
    let (_, problems) = put_from(Some(folder.path()), CONFIG);
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("line 2: `listen.admin_token`: read the credential `"), "{said:?}");
    assert!(said[0].contains("/token`: No such file"), "{said:?}");
    assert!(said[1].starts_with("line 6: `sink[0].url`: read the credential `"), "{said:?}");
    let (_, problems) = put_from(None, CONFIG);
    assert!(problems[0].message.contains("`CREDENTIALS_DIRECTORY`"), "{problems:?}");
}

#[test]
fn what_is_no_name_or_no_line_is_refused() {
    let folder = testkit::TempDir::new().unwrap();
    for (file, content) in [("two", "a\nb\n"), ("none", "\n"), ("bell", "\x07")] {
        fs::write(folder.path().join(file), content).unwrap();
    }
    for (value, message) in [
        ("'${credential:../two}'", "is no name of a credential"),
        ("'${credential:}'", "is no name of a credential"),
        ("'${credential:two'", "wants its `}`"),
        ("'${credential:two}'", "is not one line of text"),
        ("'${credential:none}'", "is not one line of text"),
        ("'${credential:bell}'", "is not one line of text"),
        ("'''\n${credential:two}'''", "on one line"),
    ] {
        let text = format!("key = {value}\n");
        let (_, problems) = put_from(Some(folder.path()), &text);
        assert!(problems[0].message.contains(message), "{value}: {problems:?}");
    }
}

#[test]
fn other_texts_stay_as_they_are() {
    for text in ["format = '${status} $request'\n", "a = '${credential:x}'\nno toml"] {
        assert_eq!(put_from(None, text), (text.into(), Vec::new()));
    }
}
