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
