//! Tests of what is shown of a line.

use super::*;
use crate::config::SourceConfig;
use crate::decode::LineFormat;

#[test]
fn a_line_shows_its_fields_or_why_it_is_refused() {
    let mut inspector =
        Inspector::new(&Format::from(LineFormat::Combined), Arc::default(), Vec::new());
    let line = b"192.0.2.7 - ann [21/Nov/2026:10:00:00 +0000] \"GET /a?item=7%20x&n= HTTP/1.1\" \
                 200 12 \"-\" \"curl\"";
    let shown = inspector.show(line);
    let fields = &shown["fields"];
    assert_eq!(fields["time"], "2026-11-21T10:00:00.000000Z");
    assert_eq!(fields["path"], "/a");
    assert_eq!(fields["query.item"], "7 x");
    assert_eq!(fields["query.n"], "");
    assert_eq!(fields["status"], 200);
    assert_eq!(fields["header.user-agent"], "curl");
    assert!(fields.get("route").is_none());
    assert_eq!(shown["counts"], json!({}));
    let refused = inspector.show(b"nonsense")["refused"].to_string();
    assert!(refused.len() > 10, "{refused}");
}

#[test]
fn a_line_shows_what_its_own_format_names() {
    let text = "$remote_addr [$time_iso8601] \"$request\" $status $http_x_tenant $took";
    let format =
        Format::parse(&SourceConfig { format: Some(text.to_owned()), ..SourceConfig::default() })
            .unwrap();
    let mut inspector = Inspector::new(&format, Arc::default(), Vec::new());
    let shown = inspector.show(b"::1 [2026-11-21T10:00:00Z] \"GET / HTTP/1.1\" 200 t1 17");
    assert_eq!(shown["fields"]["header.x-tenant"], "t1");
    assert_eq!(shown["fields"]["var.took"], "17");
    let mut inspector = Inspector::new(&Format::from(LineFormat::Ltsv), Arc::default(), Vec::new());
    let shown = inspector.show(b"time:2026-11-21T10:00:00Z\turi:/\tstatus:200\ttenant:t2");
    assert_eq!(shown["fields"]["var.tenant"], "t2");
}

#[test]
fn a_line_shows_the_rows_that_it_counts_in_with_what_sketches_take_of_it() {
    use crate::config::{RollupConfig, SinkConfig};
    use crate::plan::{Sections, plan};
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let sink = SinkConfig {
        name: Some("main".into()),
        url: Some("sqlite:x".into()),
        ..SinkConfig::default()
    };
    let counted = RollupConfig {
        name: Some("counted".into()),
        by: names(&["path", "minute"]),
        sum: names(&["bytes_out"]),
        min: names(&["total"]),
        unique: names(&["client_ip", "user"]),
        quantiles: names(&["bytes_out"]),
        ..RollupConfig::default()
    };
    let filtered = RollupConfig {
        name: Some("filtered".into()),
        by: names(&["status"]),
        filter: Some("path == '/b'".into()),
        ..RollupConfig::default()
    };
    let (rollups, sinks) = (vec![counted, filtered], vec![sink]);
    let sections = Sections { rollups, sinks, ..Sections::default() };
    let root = std::path::Path::new(".");
    let plan = plan(&sections, root, true, &mut |key, reason| panic!("{key}: {reason}"));
    let rollups = plan.rollups.iter().map(|plan| Arc::clone(&plan.rollup)).collect();
    let mut inspector =
        Inspector::new(&Format::from(LineFormat::Combined), Arc::default(), rollups);
    let line = |path: &str| {
        format!("::1 - - [21/Nov/2026:10:00:07 +0000] \"GET {path} HTTP/1.1\" 200 12 \"-\" \"-\"")
    };
    let counted = |path: &str| {
        json!({
            "path": path, "minute": "2026-11-21T10:00:00.000000Z", "count": 1,
            "sum_bytes_out": 12, "unique_client_ip": "::1", "quantiles_bytes_out": 12,
        })
    };
    assert_eq!(
        inspector.show(line("/a").as_bytes())["counts"],
        json!({ "counted": counted("/a") })
    );
    let both = json!({ "counted": counted("/b"), "filtered": { "status": 200, "count": 1 } });
    assert_eq!(inspector.show(line("/b").as_bytes())["counts"], both);
    let mut directed = Inspector::new(
        &Format::from(LineFormat::Directed(crate::decode::Directed::Seconds)),
        Arc::default(),
        Vec::new(),
    );
    let passed = directed.show(b"#Fields: date time cs-uri-stem");
    assert!(passed["passed"].is_string() && passed.get("refused").is_none(), "{passed}");
    assert_eq!(directed.show(b"2026-11-21 10:00:00 /c")["fields"]["path"], "/c");
}
