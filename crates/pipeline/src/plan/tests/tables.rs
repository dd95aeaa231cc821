//! Claims about the tables that rollups make, and about columns that no line can fill.

use super::*;

/// Columns as `name kind role`.
fn shown(table: &Table) -> Vec<String> {
    let show = |column: &Column| format!("{} {:?} {:?}", column.name, column.kind, column.role);
    table.columns.iter().map(show).collect()
}

#[test]
fn each_measure_has_the_columns_that_it_is_made_of_and_each_column_is_there_once() {
    let config = RollupConfig {
        sum: names(&["bytes_out", "total", "query.price"]),
        min: names(&["total"]),
        max: names(&["time"]),
        mean: names(&["total", "propensity"]),
        last: names(&["user"]),
        unique: names(&["user"]),
        quantiles: names(&["total"]),
        ..by("t", &["path", "status", "minute"])
    };
    let rollup = rollup(&usual(vec![config]));
    let keys = ["path Text Key", "status Integer Key", "minute Time Key"];
    let measures = [
        "count Integer Sum",
        "sum_bytes_out Integer Sum",
        "sum_total Integer Sum",
        "sum_query_price Real Sum",
        "min_total Integer Min",
        "max_time Time Max",
        "count_total Integer Sum",
        "mean_total Real Mean { sum: 5, count: 9 }",
        "sum_propensity Real Sum",
        "count_propensity Integer Sum",
        "mean_propensity Real Mean { sum: 11, count: 12 }",
        "last_user_time Time Max",
        "last_user Text Last { time: 14 }",
    ];
    assert_eq!(shown(&rollup.table), [&keys[..], &measures].concat());
    let sketches = ["node Text Key", "unique_user Blob Sketch", "quantiles_total Blob Sketch"];
    let table = rollup.sketch_table.as_ref().unwrap();
    assert_eq!(shown(table), [&keys[..], &sketches].concat());
    let tables: Vec<&str> = rollup.tables().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, ["t", "t_sketches"]);
    let total = FieldName::Total;
    assert_eq!(rollup.sketches, [SketchOf::Unique(FieldName::User), SketchOf::Quantiles(total)]);
}

#[test]
fn single_events_have_their_place_and_the_usual_fields_or_those_that_are_named() {
    let place =
        ["node Text Plain", "source Text Plain", "file Text Plain", "file_offset Integer Plain"];
    let named = rollup(&usual(vec![raw("t", &["time", "query.item", "total"])]));
    let columns = ["time Time Plain", "query_item Text Plain", "total Integer Plain"];
    assert_eq!(shown(&named.table), [&place[..], &columns].concat());
    let columns = rollup(&usual(vec![raw("t", &[])])).table.columns.clone();
    let fields: Vec<&str> = columns[4..].iter().map(|column| column.name.as_str()).collect();
    assert_eq!(fields, rollup::RAW);
    let refused_raw = |change: fn(&mut RollupConfig)| {
        let mut config = raw("t", &["path"]);
        change(&mut config);
        refused(&usual(vec![config]), "rollup[0].raw: rows of single events");
    };
    refused_raw(|config| config.by = names(&["path"]));
    refused_raw(|config| config.count = Some(false));
    refused_raw(|config| config.quantiles = names(&["total"]));
    let problem = "rollup[0].fields: there are two columns `path`";
    refused(&usual(vec![raw("t", &["path", "status", "path"])]), problem);
    let problem = "rollup[0].fields: there are two columns `file`";
    let own = Sections { fields: vec![field("file", "path")], ..usual(vec![raw("t", &["file"])]) };
    refused(&own, problem);
    let fields = RollupConfig { fields: names(&["path"]), ..by("t", &["path"]) };
    refused(&usual(vec![fields]), "rollup[0].fields: goes with `raw = true`");
}

#[test]
fn a_key_has_fields_and_buckets_and_a_misspelt_bucket_is_named() {
    let rollup = rollup(&usual(vec![by("t", &["second", "minute", "hour", "day"])]));
    let seconds = [1, 60, 3_600, 86_400];
    assert_eq!(rollup.key, seconds.map(|seconds| KeyPart::Bucket(seconds * 1_000_000)));
    refused(&usual(vec![by("t", &[])]), "rollup[0].by: name fields, `minute`, or both");
    let twice = usual(vec![by("t", &["query.a", "query_a"])]);
    assert_eq!(planned(&twice).1.len(), 1);
    refused(&usual(vec![by("t", &["path", "path"])]), "rollup[0].by: there are two columns `path`");
    for (name, meant) in [
        ("minutes", Some("minute")),
        ("sec", Some("second")),
        ("hours", Some("hour")),
        ("da", None),
        ("xyz", None),
    ] {
        let problems = planned(&usual(vec![by("t", &[name])])).1;
        let says = problems.iter().find_map(|problem| {
            ["second", "minute", "hour", "day"]
                .into_iter()
                .find(|bucket| problem.contains(&format!("`{bucket}`")))
        });
        assert_eq!((problems.len(), says), (1, meant), "{problems:?}");
    }
}

#[test]
fn what_is_no_number_or_no_span_is_not_added_up() {
    let with = |change: &dyn Fn(&mut RollupConfig)| {
        let mut config = by("t", &["path"]);
        change(&mut config);
        usual(vec![config])
    };
    let sum = |name: &str| with(&|config| config.sum = names(&[name]));
    let mean = |name: &str| with(&|config| config.mean = names(&[name]));
    let max = |name: &str| with(&|config| config.max = names(&[name]));
    let quantiles = |name: &str| with(&|config| config.quantiles = names(&[name]));
    refused(&sum("time"), "rollup[0].sum: `time` cannot be added up");
    refused(&mean("time"), "rollup[0].mean: `time` cannot be added up");
    for name in ["path", "method", "id", "cache", "client_ip", "user", "header.user-agent"] {
        refused(&sum(name), &format!("rollup[0].sum: `{name}` is no number"));
        refused(&max(name), &format!("rollup[0].max: `{name}` is no number"));
        refused(&quantiles(name), &format!("rollup[0].quantiles: `{name}` is no number"));
    }
    for name in ["status", "query.price", "propensity", "phase.fetch"] {
        for sections in [sum(name), mean(name), max(name), quantiles(name)] {
            assert_eq!(planned(&sections).1, [""; 0], "{name}");
        }
    }
    let unique = with(&|config| config.unique = names(&["path", "user", "path"]));
    refused(&unique, "rollup[0].unique: there are two columns `unique_path`");
    let nothing = with(&|config| config.count = Some(false));
    refused(&nothing, "rollup[0].count: nothing is kept");
    let unknown = with(&|config| config.last = names(&["colour"]));
    refused(&unknown, "rollup[0].last: no field `colour`");
    refused(&with(&|config| config.filter = Some("path =".into())), "rollup[0].where: ");
}

#[test]
fn the_types_of_defined_fields_are_those_of_their_columns() {
    for (kind, column) in [("text", "Text"), ("integer", "Integer"), ("real", "Real")] {
        let defined = FieldConfig { kind: Some(kind.into()), ..field("item", "query.item") };
        let sections = Sections { fields: vec![defined], ..usual(vec![by("t", &["item"])]) };
        assert_eq!(shown(&rollup(&sections).table)[0], format!("item {column} Key"));
    }
}

#[test]
fn a_header_or_variable_that_no_line_has_is_refused_wherever_it_is_named() {
    const FORMAT: &str = "$remote_addr [$time_local] \"$request\" $status $http_x_tenant $took";
    let of = |format: &str| SourceConfig { format: Some(format.into()), ..source("web") };
    let with = |sources: Vec<SourceConfig>, rollup: RollupConfig| {
        let fields = vec![field("tenant", "header.x-tenant"), field("letter", "tenant")];
        Sections { sources, fields, ..usual(vec![rollup]) }
    };
    let filtered =
        |filter: &str| RollupConfig { filter: Some(filter.into()), ..by("t", &["path"]) };
    let all = || {
        [
            ("by", by("t", &["header.x-tenant"])),
            ("by", by("t", &["tenant"])),
            ("by", by("t", &["letter"])),
            ("fields", raw("t", &["header.x-tenant"])),
            ("where", filtered("header.x-tenant == 'a'")),
            ("unique", RollupConfig { unique: names(&["tenant"]), ..by("t", &["path"]) }),
        ]
    };
    for at in 0..all().len() {
        let (key, rollup) = all().into_iter().nth(at).unwrap();
        let again = || all().into_iter().nth(at).unwrap().1;
        let combined = with(vec![of("combined")], rollup);
        let problem = format!(
            "rollup[0].{key}: no line has `header.x-tenant`: its format has no header or variable"
        );
        refused(&combined, &problem);
        for format in [FORMAT, "json", "logfmt"] {
            assert_eq!(planned(&with(vec![of(format)], again())).1, [""; 0], "{format}");
        }
        // One of two sources has it.
        let other = SourceConfig { format: Some(FORMAT.into()), ..source("api") };
        assert_eq!(planned(&with(vec![of("combined"), other], again())).1, [""; 0]);
    }
    let misspelt = by("t", &["header.x-tenants"]);
    let known = "rollup[0].by: no line has `header.x-tenants`: its format has `header.x-tenant`, \
                 `var.took`";
    refused(&with(vec![of(FORMAT)], misspelt), known);
    assert_eq!(planned(&with(vec![of("combined")], by("t", &["path"]))).1, [""; 0]);
    assert_eq!(planned(&with(vec![of("s3")], by("t", &["var.operation"]))).1, [""; 0]);
    refused(&with(vec![of("s3")], by("t", &["var.took"])), "rollup[0].by: no line has `var.took`");
}
