//! Claims about what a shown configuration hides.

use super::redacted;

#[test]
fn secrets_are_hidden_however_they_are_written() {
    for text in [
        "[listen]\nadmin_token = \"hush\" # mine",
        "listen = { admin_token = \"hush\" }",
        "listen.admin_token = 'hush'",
        "[journal]\nuser_key = \"\"\"\nhush\nhush\"\"\"",
        "statsd = { backend = [{ kind = \"otlp\", headers = { authorization = \"hush\" } }] }",
        "[[upstream]]\nenvironment = { API_KEY = \"hush\" }",
        "[[sink]]\nurl = \"postgres://me:hush@db/news\"",
        "sink = [{ url = \"postgres://me:hu@sh@db/news\" }]",
        "[[sink]]\nurl = \"postgres://me\\u003ahush\\u0040db/news\"",
        "[[sink]]\nurl = \"\"\"\npostgres://me:\\\n  hush@db/news\"\"\"",
    ] {
        let shown = redacted(text).expect("it is TOML");
        assert!(!shown.contains("hu") && shown.contains('…'), "{shown}");
        assert!(toml::from_str::<toml::Table>(&shown).is_ok(), "{shown}");
    }
}

#[test]
fn the_rest_stays_as_it_is_written() {
    let text = "# mine\n[listen]\nadmin = \"127.0.0.1:1\"  # here\nadmin_token=\"hush\"\n";
    let expected = "# mine\n[listen]\nadmin = \"127.0.0.1:1\"  # here\nadmin_token=\"…\"\n";
    assert_eq!(redacted(text).as_deref(), Some(expected));
    assert_eq!(redacted("a = "), None);
}
