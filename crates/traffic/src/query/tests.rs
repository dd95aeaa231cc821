//! Claims about `query`.

use stdx::Random;

use super::{Query, QueryError, QueryOptions};
use crate::assembly::{Assembler, Grouping};
use crate::limits::{WatchCounts, WatchLimits};
use crate::tag::{Tag, TagSet};
use crate::transaction::Kind;

const RECORDS: [(&str, &str); 8] = [
    ("Begin", "req 1 rxreq"),
    ("ReqURL", "/foo?a=b"),
    ("ReqHeader", "User-Agent: iPod 3"),
    ("ReqHeader", "Cookie:"),
    ("RespStatus", "404"),
    ("Timestamp", "Resp: 1473174473.456773 1.500000 0.000108"),
    ("FetchError", "no backend connection"),
    ("ReqAcct", "82 0 82 304 6962 7266"),
];

/// Whether a transaction of these records satisfies a query.
fn holds_with(text: &str, options: QueryOptions) -> bool {
    let query = Query::parse(text, options).unwrap();
    let every: TagSet = Tag::all().collect();
    let mut assembler = Assembler::new(Grouping::Vxid, WatchLimits::default(), every);
    let mut counts = WatchCounts::default();
    assembler.begin(7, Kind::Request, &mut counts);
    for (tag, data) in RECORDS {
        assembler.record(7, (Tag::named(tag), data.as_bytes()), &mut counts);
    }
    assembler.end(7, &mut counts);
    query.matches(assembler.group().unwrap())
}

fn holds(text: &str) -> bool {
    holds_with(text, QueryOptions::default())
}

#[test]
fn the_examples_of_the_manual_hold_where_they_should() {
    for text in [
        "ReqURL eq \"/foo?a=b\"",
        "ReqHeader:cookie",
        "not ReqHeader:if-modified-since",
        "ReqHeader:user-agent ~ \"iPod\" and Timestamp:Resp[2] > 1.",
        "Timestamp:Resp[2] > 1.4",
        "RespStatus == 404 and not ReqHeader:if-modified-since",
        "*Error",
        "Resp* == 404",
        "ReqAcct[5] >= 6962",
        "vxid == 7",
        "{1}RespStatus and {1+}RespStatus and {2-}RespStatus",
        "reqheader,respheader:Cookie",
        "TxStatus == 404",
        "# a comment\n\nRespStatus == 1\nRespStatus \\\n== 404",
        "not (RespStatus == 1 or RespStatus == 2)",
        "ReqURL ne '/bar'",
        "ReqURL !~ 'bar'",
        "Timestamp:resp[2] == 1",
    ] {
        assert!(holds(text), "{text}");
    }
}

#[test]
fn what_is_not_so_does_not_hold() {
    for text in [
        "ReqURL eq \"/foo\"",
        "ReqHeader:cook",
        "ReqHeader:cookie[1]",
        "Timestamp:Resp[2] > 1",
        "Timestamp:Resp[9]",
        "{2+}RespStatus",
        "{0}RespStatus",
        "ReqURL > 3",
        "vxid != 7",
        "BerespStatus >= 500",
        "ReqHeader:user-agent ~ ipod",
    ] {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn case_is_ignored_where_it_is_asked_for() {
    let options = QueryOptions { ignores_case: true };
    assert!(holds_with("ReqHeader:user-agent ~ ipod", options));
    assert!(holds_with("ReqURL eq /FOO?A=B".replace("/FOO?A=B", "'/FOO?A=B'").as_str(), options));
}

#[test]
fn precedence_is_not_then_and_then_or() {
    assert!(holds("RespStatus == 404 or RespStatus == 1 and RespStatus == 2"));
    assert!(!holds("not RespStatus == 404 or RespStatus == 1"));
}

#[test]
fn errors_name_the_place_and_what_would_be_right() {
    for (text, wanted) in [
        ("RespStatsu == 1", "line 1, column 1: no tag `RespStatsu`; did you mean `RespStatus`?"),
        ("status == 1", "no tag `status`"),
        ("RespStatus ==", "expected a word, a number or a text in quotes, found the end"),
        ("RespStatus == abc", "`abc` is no number"),
        ("ReqURL ~ '('", "bad regular expression"),
        ("ReqURL ~ '(?=a)'", "look-around"),
        ("(RespStatus", "expected `)`"),
        ("RespStatus 404", "expected `and`, `or` or the end, found `404`"),
        ("RespStatus\n  ReqURL ~", "line 2, column 11"),
        ("ReqURL eq 'x", "no closing '"),
        ("{x}ReqURL", "a level is a number"),
        ("ReqURL[0]", "a field is a number from 1 on"),
        ("", "the query is empty"),
    ] {
        let error = Query::parse(text, QueryOptions::default()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn a_query_says_which_grouping_it_needs() {
    let grouping = |text| Query::parse(text, QueryOptions::default()).unwrap().grouping();
    assert_eq!(grouping("RespStatus >= 500"), Grouping::Vxid);
    assert_eq!(grouping("*Error"), Grouping::Vxid);
    assert_eq!(grouping("RespStatus and BerespStatus >= 500"), Grouping::Request);
    assert_eq!(grouping("{2+}Timestamp:Process[2] > 1."), Grouping::Request);
}

#[test]
fn a_query_becomes_a_filter_where_it_can() {
    let filter = |text| {
        let query = Query::parse(text, QueryOptions::default()).unwrap();
        query.filter().map(|filter| filter.as_str().to_owned())
    };
    for (text, wanted) in [
        ("RespStatus >= 500", "status >= 500"),
        ("RespStatus > 500", "status >= 501"),
        ("ReqURL ~ '\\.png$'", r#"(var.url and var.url ~ "\\.png$")"#),
        ("not ReqHeader:If-None-Match", "not (header.if-none-match)"),
        ("Timestamp:Resp[2] > 0.5", "(var.total_s and var.total_s > 0.5)"),
        ("Hit and ReqMethod eq GET", "(var.hit and (method and method == \"GET\"))"),
    ] {
        assert_eq!(filter(text).as_deref(), Ok(wanted));
    }
    for text in ["VCL_call eq HIT", "vxid == 1", "{2}RespStatus", "Re* ~ x", "ReqHeader ~ x"] {
        assert!(matches!(filter(text), Err(QueryError::NoRecords { .. })), "{text}");
    }
}

#[test]
fn no_text_makes_it_panic() {
    let mut random = Random::new(5);
    let pieces = [
        "RespStatus",
        "Req*",
        "{1+}",
        "[2]",
        ":a",
        "==",
        "~",
        "eq",
        "'x'",
        "\"",
        "(",
        ")",
        "not",
        "and",
        "or",
        "\n",
        "\\\n",
        "#",
        "é",
        "1.5",
        "-3",
        "vxid",
        "{",
        "}",
        "*",
        ",",
        "99999999999999",
    ];
    for _ in 0..20_000 {
        let count = random.bits() % 9;
        let text: Vec<&str> =
            (0..count).map(|_| pieces[(random.bits() % pieces.len() as u64) as usize]).collect();
        if let Ok(query) = Query::parse(&text.join(" "), QueryOptions::default()) {
            let _ = query.filter();
        }
    }
    let deep = format!("{}RespStatus{}", "(".repeat(100), ")".repeat(100));
    assert!(Query::parse(&deep, QueryOptions::default()).is_err());
    assert!(Query::parse(&"x".repeat(5000), QueryOptions::default()).is_err());
}
