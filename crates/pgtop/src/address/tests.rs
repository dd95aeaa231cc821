//! Tests of the module `address`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

fn resolved(text: &str, config: &str, variables: &[(&str, &str)]) -> PgAddress {
    let [text, config] = [text, config].map(|it| match it {
        "" => ConnectionSettings::default(),
        it => ConnectionSettings::parse(it).unwrap(),
    });
    let variable = |name: &str| {
        variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
    };
    text.resolve(&config, &variable).unwrap()
}

#[test]
fn the_command_line_wins_over_the_file_and_that_over_the_environment_and_that_over_defaults() {
    let address = resolved("", "", &[]);
    assert_eq!(address.to_string(), "localhost:5432/test");
    assert_eq!(address.user, "postgres");

    let variables = [("PGHOST", "env"), ("PGPORT", "7"), ("PGUSER", "eve"), ("PGDATABASE", "e")];
    assert_eq!(resolved("", "", &variables).to_string(), "env:7/e");
    assert_eq!(resolved("", "host=file", &variables).to_string(), "file:7/e");
    assert_eq!(resolved("line:9/d", "host=file", &variables).to_string(), "line:9/d");
}

#[test]
fn a_socket_is_its_directory_and_the_port_in_its_name() {
    assert_eq!(resolved("/run/pg/.s.PGSQL.5433", "", &[]).to_string(), "/run/pg:5433/test");
    let mut settings = ConnectionSettings::default();
    settings.set("port", Some("7".to_owned()));
    settings.set_socket(std::path::Path::new("/run/pg"));
    let dir = settings.clone().resolve(&ConnectionSettings::default(), &|_| None).unwrap();
    assert_eq!(dir.to_string(), "/run/pg:7/test");
    settings.set_socket(std::path::Path::new("/tmp/.s.PGSQL.5434"));
    let socket = settings.resolve(&ConnectionSettings::default(), &|_| None).unwrap();
    assert_eq!(socket.to_string(), "/tmp:5434/test");
}

#[test]
fn a_server_is_written_as_host_and_port_as_pairs_or_as_an_url() {
    assert_eq!(resolved("db1", "", &[]).to_string(), "db1:5432/test");
    assert_eq!(resolved("[::1]:99/x", "", &[]).to_string(), "::1:99/x");
    assert_eq!(resolved("::1", "", &[]).to_string(), "::1:5432/test");
    assert_eq!(resolved("/run/pg", "", &[]).host, "/run/pg");
    // What alerts call it.
    let server = |text: &str| resolved(text, "", &[]).server();
    assert_eq!(
        ["db1", "db1:5432/x", "db1:5433", "[::1]:99"].map(server),
        ["db1", "db1", "db1:5433", "[::1]:99"]
    );
    let url = resolved("postgres://ann:p%2Fw@db2:6/x%20y?sslmode=require", "", &[]);
    assert_eq!((url.to_string().as_str(), url.user.as_str()), ("db2:6/x y", "ann"));
    assert_eq!(url.password, Some(PgPassword("p/w".to_owned())));
    assert_eq!(url.encryption, PgEncryption::Require);
    let pairs = resolved(r"host=h  password='a b\'c' user = u port=8", "", &[]);
    assert_eq!((pairs.port, pairs.user.as_str()), (8, "u"));
    assert_eq!(pairs.password, Some(PgPassword("a b'c".to_owned())));
}

#[test]
fn a_password_is_in_no_error_and_no_debug_output() {
    let url = resolved("postgres://ann:geheim@db2/x", "", &[]);
    assert!(!format!("{url:?} {url}").contains("geheim"));
    for wrong in ["postgres://a:geheim@h/x?unknown=1", "password=geheim wrong=1"] {
        let Err(error) = ConnectionSettings::parse(wrong) else { panic!("{wrong}") };
        assert!(!format!("{error} {error:?}").contains("geheim"), "{error}");
    }
}

#[test]
fn the_password_file_is_believed_only_if_nobody_else_can_read_it() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join(".pgpass");
    fs::write(&file, "# a note\ndb1:*:*:ann:ge\\:heim\n*:*:*:*:other\n").unwrap();
    let home = dir.path().to_str().unwrap();
    let password = |text: &str| resolved(text, "", &[("HOME", home)]).password.map(|it| it.0);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(password("host=db1 user=ann"), None);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(password("host=db1 user=ann").as_deref(), Some("ge:heim"));
    assert_eq!(password("host=db1 user=bob").as_deref(), Some("other"));
    assert_eq!(password("host=db1 user=ann password=given").as_deref(), Some("given"));
}

#[test]
fn a_service_is_read_from_its_file_and_a_bad_line_is_named() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("services");
    fs::write(&file, "[other]\nhost=no\n\n[main]\n# note\nhost=db7\nport = 77\n").unwrap();
    let file_name = file.to_str().unwrap();
    let variables = [("PGSERVICEFILE", file_name), ("PGSERVICE", "main"), ("PGUSER", "eve")];
    let address = resolved("", "", &variables);
    assert_eq!((address.to_string().as_str(), address.user.as_str()), ("db7:77/test", "eve"));
    assert_eq!(resolved("service=main port=5", "", &variables).to_string(), "db7:5/test");
    // As libpq has it: what is given, then the service, then single variables.
    let variables = [&variables[..], &[("PGPORT", "9"), ("PGDATABASE", "shop")]].concat();
    assert_eq!(resolved("", "", &variables).to_string(), "db7:77/shop");
    assert_eq!(resolved("", "host=file", &variables).to_string(), "file:77/shop");
    assert_eq!(resolved("service=other", "", &variables).to_string(), "no:9/shop");

    fs::write(&file, "[main]\nhost\n").unwrap();
    let variable = |name: &str| (name == "PGSERVICEFILE").then(|| file_name.to_owned());
    let settings = ConnectionSettings::parse("service=main").unwrap();
    let error = settings.resolve(&ConnectionSettings::default(), &variable).unwrap_err();
    assert_eq!(error.to_string(), format!("`{file_name}:2`: expected NAME=VALUE"));
    let settings = ConnectionSettings::parse("service=absent").unwrap();
    let error = settings.resolve(&ConnectionSettings::default(), &variable).unwrap_err();
    assert_eq!(error.to_string(), "no service file defines `absent`");
}

#[test]
fn an_error_does_not_repeat_what_may_be_a_password() {
    for text in [
        "postgres://ann:s3cr3t/PW@h",
        "postgres://ann:s3cr3t?PW=1@h",
        "postgres://ann:s3cr3t",
        "ann:s3cr3t@h/shop",
        "host=h port=s3cr3t",
        "host=h password=a s3cr3t=b",
    ] {
        let resolved = ConnectionSettings::parse(text)
            .and_then(|it| it.resolve(&ConnectionSettings::default(), &|_| None));
        let error = resolved.unwrap_err().to_string();
        assert!(!error.contains("s3cr3t") && !error.contains("PW"), "{text}: {error}");
    }
}
