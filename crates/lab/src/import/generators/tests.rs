//! Files as the tools write them.

use verdicts::{AttributeValues, Series};

use super::super::{ReadOptions, read as read_any};

fn all(text: &[u8]) -> Vec<Series> {
    read_any("x", text, &ReadOptions::default()).unwrap().series
}

fn read(text: &str) -> Series {
    all(text.as_bytes()).remove(0)
}

fn strict(text: &str) -> String {
    let options = ReadOptions { is_strict: true, ..ReadOptions::default() };
    read_any("x", text.as_bytes(), &options).unwrap_err().to_string()
}

fn phase<'s>(series: &'s Series, name: &str) -> &'s [f64] {
    &series.phases.iter().find(|phase| phase.name == name).unwrap().ms
}

fn about(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6)
}

const VEGETA: &str = r#"{"attack":"","seq":0,"code":200,"timestamp":"2026-11-22T05:34:12.500000001Z","latency":1500000,"bytes_out":0,"bytes_in":30,"error":"","body":"aGk=","method":"GET","url":"http://127.0.0.1/","headers":{"Server":["nginx"]}}
{"attack":"","seq":1,"code":503,"timestamp":"2026-11-22T05:34:12.6Z","latency":90000,"bytes_out":0,"bytes_in":0,"error":"503 Service Unavailable","body":null,"method":"GET","url":"http://127.0.0.1/","headers":null}
{"attack":"","seq":2,"code":0,"timestamp":"2026-11-22T05:34:12.7Z","latency":90000,"bytes_out":0,"bytes_in":0,"error":"connection refused","body":null,"method":"GET","url":"http://127.0.0.1/","headers":null}
"#;

#[test]
fn vegeta_writes_json_and_csv() {
    let csv = "1795325652500000001,200,1500000,0,30,,aGk=,,0,GET,http://127.0.0.1/,\n\
               1795325652600000000,503,90000,0,0,503 Service Unavailable,,,1,GET,http://127.0.0.1/,\n\
               1795325652700000000,0,90000,0,0,connection refused,,,2,GET,http://127.0.0.1/,\n";
    for text in [VEGETA, csv] {
        let series = read(text);
        assert_eq!(series.total_ms, [1.5]);
        assert!((series.origin_unix_ms.unwrap() - 1_795_325_652_500.0).abs() < 1.0);
        assert_eq!(series.left_out.failed["status 503"], 1);
        assert_eq!(series.left_out.failed["connection refused"], 1);
    }
    let broken = VEGETA.replace("\"latency\":1500000", "\"latency\":\"fast\"");
    assert!(strict(&broken).starts_with("x:1: invalid type"), "{}", strict(&broken));
    let gob = b"\x1f\xff\x81\x03\x01\x01\x06Result\x01\xff\x82\x00\x01\x09Timestamp\x01";
    let error = read_any("x", gob, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("vegeta encode --to csv"), "{error}");
    let old = read("1795325652500000001,200,1500000,0,30,,aGk=,,0\n");
    assert_eq!((old.total_ms, old.attributes.len()), (vec![1.5], 2));
}

#[test]
fn summaries_are_refused_with_what_writes_the_calls() {
    for (text, way) in [
        (
            "\nSummary:\n  Success rate:\t100.00%\n  Fastest:\t9 ms\n  Requests/sec:\t57\n",
            "oha --out",
        ),
        ("\nSummary:\n  Total:\t1 secs\n  Fastest:\t0.1 secs\n  Requests/sec:\t5\n", "hey -o csv"),
        ("\n    HTTP\n    http_req_duration....: avg=4ms\n    http_reqs....: 2\n", "k6 run --out"),
        ("{\n  \"metrics\": {\"http_req_duration\": {\"avg\": 4, \"med\": 4}}}", "k6 run --out"),
        ("Running 1s test @ http://a/\n  1 threads\n  Thread Stats   Avg\n", "wrk2 --latency"),
        (
            "Requests      [total, rate, throughput]\nLatencies  [min]\nSuccess [ratio]\n",
            "vegeta enc",
        ),
    ] {
        let error =
            read_any("x", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(way), "{text}: {error}");
    }
}

#[test]
fn k6_writes_a_line_for_each_number() {
    let point = |metric: &str, value: f64, tags: &str| {
        format!(
            "{{\"metric\":\"{metric}\",\"type\":\"Point\",\"data\":{{\"time\":\
             \"2026-11-22T05:34:12.5Z\",\"value\":{value},\"tags\":{{{tags}}}}}}}\n"
        )
    };
    let ok = "\"status\":\"200\",\"expected_response\":\"true\",\"url\":\"http://a/\"";
    let failed = "\"status\":\"0\",\"expected_response\":\"false\",\"error\":\"dial: i/o timeout\"";
    let mut text = "{\"type\":\"Metric\",\"data\":{\"name\":\"http_req_duration\"},\
                    \"metric\":\"http_req_duration\"}\n"
        .to_owned();
    text += &point("http_reqs", 1.0, ok);
    for (part, value) in [
        ("duration", 221.9),
        ("blocked", 225.0),
        ("connecting", 217.0),
        ("tls_handshaking", 0.0),
        ("sending", 0.1),
        ("waiting", 220.3),
        ("receiving", 1.5),
        ("failed", 0.0),
    ] {
        text += &point(&format!("http_req_{part}"), value, ok);
    }
    text += &point("http_req_duration", 0.0, failed);
    text += &point("vus", 5.0, "");
    let series = read(&text);
    assert!(about(&series.total_ms, &[446.9]), "{:?}", series.total_ms);
    assert!(about(phase(&series, "blocked"), &[8.0]));
    assert!(about(phase(&series, "connecting"), &[217.0]));
    assert_eq!(phase(&series, "waiting"), [220.3]);
    assert_eq!(series.left_out.failed["dial: i/o timeout"], 1);
    assert!(series.origin_unix_ms.is_some());
    assert!(strict(&(text + "{nonsense\n")).contains("no line of k6"));
}

#[test]
fn k6_writes_csv() {
    let tail = "GET,http://a/,HTTP/1.1,default,200,,,http://a/,";
    let text = format!(
        "metric_name,timestamp,metric_value,check,error,error_code,group,method,name,proto,\
         scenario,status,subproto,tls_version,url,extra_tags\n\
         http_reqs,1595325560,1.000000,,,,,{tail}\n\
         http_req_duration,1595325560,221.899000,,,,,{tail}\n\
         http_req_blocked,1595325560,225.275000,,,,,{tail}\n\
         http_req_connecting,1595325560,217.680000,,,,,{tail}\n\
         http_req_waiting,1595325560,220.280000,,,,,{tail}\n\
         http_req_duration,1595325561,fast,,,,,{tail}\n"
    );
    let series = read(&text);
    assert!(about(&series.total_ms, &[447.174]), "{:?}", series.total_ms);
    assert!(series.began_ms.is_empty(), "whole seconds place nothing");
    assert_eq!(series.left_out.bad["not a number"], 1);
    assert_eq!(strict(&text), "x:7: metric_value: `fast` is not a number");
}

#[test]
fn oha_writes_csv_with_calls_and_json_with_a_histogram() {
    let csv = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n\
               0.001,0.0001,0.0003,0.002,0.0025,30,200\n0.002,0,0,0.001,0.0015,30,200\n\
               0.003,0,0,0.001,0.0015,30,503\n0.004,0,0,soon,0.0015,30,200\n";
    let series = read(csv);
    assert!(about(&series.total_ms, &[2.5, 1.5]));
    assert!(about(phase(&series, "wait"), &[1.7, 1.0]));
    assert!(about(phase(&series, "connect"), &[0.2, 0.0]));
    assert!(about(&series.began_ms, &[0.0, 1.0]));
    assert_eq!((series.left_out.failed["status 503"], series.left_out.bad["not a number"]), (1, 1));

    let json = r#"{"summary":{"successRate":1.0,"total":1.0,"slowest":0.003,"fastest":0.001,
        "average":0.002},"responseTimeHistogram":{"0.001":1,"0.002":10,"0.003":9},
        "latencyPercentiles":{"p50":0.002},"errorDistribution":{"deadline":2}}"#;
    let series = read(json);
    assert_eq!((series.len(), series.left_out.failed["deadline"]), (20, 2));
    assert!(series.total_ms[1..].windows(2).all(|pair| pair[0] != pair[1]));
    assert!(series.notes[0].contains("3 steps of 1.000 ms"), "{:?}", series.notes);
}

#[test]
fn hey_writes_csv() {
    let text = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,\
                status-code,offset\n0.0078,0.0003,0.0001,0.0001,0.0071,0.0002,200,0.0027\n\
                0.0081,0.0000,0.0000,0.0001,0.0080,0.0000,404,0.0126\n";
    let series = read(text);
    assert!(about(&series.total_ms, &[7.8]));
    assert!(about(phase(&series, "connect"), &[0.2]) && about(phase(&series, "wait"), &[7.1]));
    assert_eq!(series.left_out.failed["status 404"], 1);
}

#[test]
fn hyperfine_writes_times_by_command() {
    let text = r#"{
  "results": [
    {"command": "a", "mean": 0.2, "stddev": 0.1, "median": 0.2, "user": 0.1, "system": 0.0,
     "min": 0.1, "max": 0.3, "times": [0.1, 0.3], "memory_usage_byte": [1000, 2000],
     "exit_codes": [0, null]},
    {"command": "b", "mean": 0.2, "stddev": null, "median": 0.2, "user": 0.1, "system": 0.0,
     "min": 0.2, "max": 0.2, "times": [0.2], "exit_codes": [0]}
  ]
}"#;
    let series = all(text.as_bytes());
    assert_eq!((series.len(), series[0].name.as_str()), (2, "a"));
    assert_eq!(series[0].total_ms, [100.0, 300.0]);
    let peak = series[0].attributes.iter().find(|one| one.name == "peak memory").unwrap();
    assert!(matches!(&peak.values, AttributeValues::Numbers(bytes) if bytes[1] == 2000.0));
}

#[test]
fn wrk2_and_hdr_histogram_write_percentiles() {
    let text = "Running 30s test @ http://127.0.0.1:80/index.html\n  Detailed Percentile spectrum:\n\
                       Value   Percentile   TotalCount 1/(1-Percentile)\n\n\
                       1.000     0.000000            1         1.00\n\
                       2.000     0.500000           50         2.00\n\
                       9.000     1.000000          100          inf\n\
                #[Mean    =        4.000, StdDeviation   =        1.000]\n";
    let series = read(text);
    assert_eq!(series.len(), 100);
    assert_eq!(series.total_ms.iter().filter(|ms| **ms <= 2.0).count(), 50);
    assert!(series.total_ms.iter().all(|ms| (1.0..=9.0).contains(ms)));
    let broken = text.replace("50         2.00", "many       2.00");
    assert!(strict(&broken).starts_with("x:6: "), "{}", strict(&broken));
}

#[test]
fn an_interval_log_is_put_together_in_its_own_unit() {
    use hdrhistogram::serialization::V2DeflateSerializer;
    use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
    let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    (1..=100).for_each(|ms| histogram.record(ms * 1000).unwrap());
    let (mut text, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let second = std::time::Duration::from_secs(1);
    let mut builder = IntervalLogWriterBuilder::new();
    let builder = builder.with_max_value_divisor(1000.0);
    let mut log = builder.begin_log_with(&mut text, &mut serializer).unwrap();
    for at in 0..2 {
        log.write_histogram(&histogram, second * at, second, None).unwrap();
    }
    let series = all(&text).remove(0);
    assert_eq!(series.len(), 200);
    let mut sorted = series.total_ms.clone();
    sorted.sort_by(f64::total_cmp);
    assert!((sorted[99] - 50.0).abs() < 0.1 && (sorted[199] - 100.0).abs() < 0.1);
}
