//! Claims about what is left out of a record, and what stays.

use super::{without_secrets, words_without_secrets};

#[test]
fn secrets_in_texts_are_hidden_and_their_names_stay() {
    for (text, shown) in [
        ("url=/x?token=abc&b=2", "url=/x?token=***&b=2"),
        ("url=http://joe:pw@host/x", "url=http://***@host/x"),
        ("postgres://u:p@a/x postgres://u:p@b/y", "postgres://***@a/x postgres://***@b/y"),
        ("{\"password\": \"a b\", \"n\": 1}", "{\"password\": \"***\", \"n\": 1}"),
        ("curl -H 'Authorization: Bearer abc' x", "curl -H 'Authorization: ***' x"),
        ("X-Api-Key: 1 2 3", "X-Api-Key: ***"),
        ("Cookie: a=b; c=d", "Cookie: ***"),
        ("admin_token=x", "admin_token=***"),
        ("API-KEY=x,url=y", "API-KEY=***,url=y"),
        ("/a?%74oken=x&b=2", "/a?%74oken=***&b=2"),
    ] {
        assert_eq!(without_secrets(text), shown);
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in
        ["url=/x", "prefix=/a&soft=true", "route=news killed=true", "http://h:80/a", "key", "a=b=c"]
    {
        assert_eq!(without_secrets(text), text);
    }
}

#[test]
fn words_of_a_command_lose_values_of_the_environment_and_of_options() {
    for (words, shown) in [
        ("env PGPASSWORD=a psql -c x", "env PGPASSWORD=*** psql -c x"),
        ("env HOME=/root LANG=C check", "env HOME=*** LANG=*** check"),
        ("curl --token abc --retry 3", "curl --token *** --retry 3"),
        ("curl --token --retry 3", "curl --token --retry 3"),
        ("curl --token=abc x", "curl --token=*** x"),
        ("curl -u joe:pw http://h/", "curl -u joe:*** http://h/"),
        ("curl --user=joe:pw x", "curl --user=joe:*** x"),
        ("check_http -H example.org -p 80", "check_http -H example.org -p 80"),
    ] {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(words_without_secrets(&words).join(" "), shown);
    }
    let line = ["sh", "-c", "A=1 curl https://u:p@h/ | grep x"].map(str::to_owned);
    assert_eq!(words_without_secrets(&line)[2], "A=*** curl https://***@h/ | grep x");
}

#[test]
fn hostile_texts_end() {
    for text in ["", "=", ":", "://", "a://@", "token=", "é=ü", "authorization:", "cookie:cookie:"]
    {
        let _ = without_secrets(text);
    }
    assert_eq!(without_secrets("token="), "token=");
    // On a stack of the usual size.
    for part in ["://", "cookie:\n", "a=", "%"] {
        let long = part.repeat(300_000);
        assert!(without_secrets(&long).len() >= long.len());
    }
}
