//! What Munin is told of a page.

use std::io::{BufRead as _, BufReader, Write as _};

use super::page::MetricsPage;
use super::{Verb, answer};

const PAGE: &str = r#"# HELP tidegate_statsd_lines_total Lines.
# TYPE tidegate_statsd_lines_total counter
tidegate_statsd_lines_total 9
# HELP web_hits_total Counter `web.hits` of statsd.
# TYPE web_hits_total counter
web_hits_total{path="/a\"b,c",who="x\\#\ny"} 7.5
web_hits_total{path="/"} 10
# HELP web_depth Gauge `web.depth` of statsd.
# TYPE web_depth gauge
web_depth -2.5
# HELP web_took Timer `web.took` of statsd.
# TYPE web_took summary
web_took{quantile="0.9"} 4.25
web_took_sum 330.4
web_took_count 4
# HELP webs_total Counter `webs` of statsd.
# TYPE webs_total counter
webs_total +Inf
nonsense
{="
"#;

#[test]
fn pages_are_read_with_their_escapes() {
    let page = MetricsPage::read(PAGE);
    let sample = &page.families[1].samples[0];
    let labels: Vec<_> = sample.labels.iter().map(|(name, value)| (*name, &**value)).collect();
    assert_eq!(labels, [("path", "/a\"b,c"), ("who", "x\\#\ny")]);
    assert_eq!((sample.value, page.families[1].shown()), (7.5, "web.hits"));
    assert_eq!(page.families.iter().map(|family| family.samples.len()).sum::<usize>(), 8);
}

#[test]
fn prefixes_are_suggested() {
    assert_eq!(answer(PAGE, "tidegate_", Verb::Suggest), "tidegate_statsd\nweb\nwebs\n");
}

#[test]
fn values_are_of_the_prefix_alone() {
    assert_eq!(
        answer(PAGE, "tidegate_web", Verb::Fetch),
        "multigraph tidegate_web_rates\n\
         hits_total_01329477.value 8\n\
         hits_total_8dc1afd0.value 10\n\
         took.value 4\n\
         multigraph tidegate_web_times\n\
         took_f624671a.value 4.25\n\
         took_sum.value 330\n\
         took_count.value 4\n\
         multigraph tidegate_web_gauges\n\
         depth.value -2.5\n"
    );
    assert_eq!(
        answer(PAGE, "tidegate_webs_total", Verb::Fetch),
        "multigraph tidegate_webs_total_rates\nwebs_total.value U\n"
    );
    assert_eq!(answer(PAGE, "tidegate_we", Verb::Fetch), "");
}

#[test]
fn every_value_is_configured_before() {
    for plugin in ["tidegate_web", "tidegate_", "tidegate_tidegate_statsd"] {
        let config = answer(PAGE, plugin, Verb::Config);
        let values = answer(PAGE, plugin, Verb::Fetch);
        for line in values.lines() {
            let wanted = match line.split_once(".value ") {
                Some((field, _)) => format!("{field}.label "),
                None => line.to_owned(),
            };
            assert!(config.lines().any(|line| line.starts_with(&wanted)), "{wanted}: {config}");
        }
    }
    let config = answer(PAGE, "tidegate_web", Verb::Config);
    for line in [
        "graph_title web: rates",
        "hits_total_8dc1afd0.label web.hits path=/",
        "hits_total_01329477.label web.hits path=/a\"b,c who=x___y",
        "hits_total_8dc1afd0.type DERIVE",
        "took_sum.cdef took_sum,took_count,/",
        "took_count.graph no",
        "depth.label web.depth",
    ] {
        assert!(config.lines().any(|found| found == line), "{line}: {config}");
    }
}

#[test]
fn a_graph_has_its_title_and_a_family_of_the_whole_name_its_field() {
    let page = "# HELP other Gauge `o` of statsd.\n# TYPE root gauge\nroot 1\n\
                root{a=\"b\"} 2 1700000000\nother 3\n# TYPE _ gauge\n_ 4\n";
    let labelled = format!("root_{:08x}", super::fnv("a=\"b\""));
    let config = format!(
        "multigraph tidegate__gauges\ngraph_title statsd: gauges\n\
         graph_vlabel as it was sent\ngraph_category statsd\ngraph_args --base 1000\n\
         _root.label root\n{labelled}.label root a=b\n_.label _\n"
    );
    assert_eq!(answer(page, "tidegate_", Verb::Config), config);
    let values = answer(page, "tidegate_", Verb::Fetch);
    assert!(values.contains("_root.value 1\n") && values.contains("\n_.value 4\n"), "{values}");
    assert_eq!(answer(page, "tidegate_", Verb::Suggest), "root\n", "`_` has no word");
    let whole = answer(page, "tidegate_root", Verb::Fetch);
    assert!(whole.starts_with("multigraph tidegate_root_gauges\n_root.value 1\n"), "{whole}");
    assert_eq!(
        answer(page, "tidegate", Verb::Fetch).lines().next(),
        Some("multigraph tidegate_gauges")
    );
}

#[test]
fn the_hash_of_labels_is_fnv_1a() {
    // The test vectors of its authors.
    assert_eq!(
        [super::fnv(""), super::fnv("a"), super::fnv("foobar")],
        [0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968]
    );
}

/// A server that answers each connection with this.
fn serves(answer: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(&stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            drop((&stream).write_all(answer.as_bytes()));
        }
    });
    format!("http://{address}/metrics")
}

#[test]
fn a_page_is_got_where_there_is_one_and_else_the_reason() {
    let page = serves("HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\na 1\n");
    assert_eq!(super::get(&page), Ok("a 1\n".to_owned()));
    let none = serves("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let reason = super::get(&none).expect_err("there is no page");
    assert!(reason.contains("404"), "{reason}");
    let away = format!("http://127.0.0.1:{}/metrics", testkit::free_port());
    assert!(!super::get(&away).expect_err("nobody is there").is_empty());
}
