//! Claims about `records`.

use crate::watch::tests::shown_with;
use crate::{Grouping, OutputFormat, Query, QueryOptions, WatchOptions};

const RAW: &str = "         0 CLI            - Rd ping
     32770 ReqHeader      c Cookie: id=1
     32771 BerespStatus   b 503
";

fn shown(text: &str, query: Option<&str>, format: OutputFormat) -> String {
    let mut options = WatchOptions { grouping: Some(Grouping::Raw), ..WatchOptions::default() };
    options.query = query.map(|text| Query::parse(text, QueryOptions::default()).unwrap());
    options.output.format = format;
    shown_with(text, options).0
}

#[test]
fn records_are_shown_as_varnishlog_writes_them_but_for_secrets() {
    let text = RAW.replace("id=1", "[redacted]");
    assert_eq!(shown(RAW, None, OutputFormat::Text), text);
    let grouped = "*   << BeReq    >> 32771     \n-   BerespStatus   503\n";
    assert_eq!(
        shown(grouped, None, OutputFormat::Text),
        RAW.lines().last().unwrap().to_owned() + "\n"
    );
}

#[test]
fn a_query_is_asked_of_each_record_alone() {
    let count = |query| shown(RAW, Some(query), OutputFormat::Text).lines().count();
    assert_eq!(count("vxid == 0 and CLI"), 1);
    assert_eq!(count("BerespStatus >= 500 or ReqHeader:cookie"), 2);
    assert_eq!(count("BerespStatus and ReqHeader"), 0);
    assert_eq!(count("{0}CLI or {1}BerespStatus"), 1);
}

#[test]
fn records_of_3_0_have_their_descriptor() {
    let text = "   11 RxURL        c /\x1b\n";
    let out = shown(text, Some("ReqURL"), OutputFormat::Ndjson);
    assert_eq!(out, "{\"vxid\":11,\"tag\":\"RxURL\",\"side\":\"c\",\"data\":\"/\\u001b\"}\n");
}
