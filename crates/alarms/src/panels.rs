//! What the dashboard shows: rows of panels, each with its queries.
//!
//! `$i` stands for the chosen instances, and `$r` for Grafana's interval of a rate. A metric that a
//! server does not export is found by `crates/tidegate/tests/it/watched.rs`.

/// A row of the dashboard: its title, and its panels.
pub(crate) type PanelRow = (&'static str, &'static [ChartPanel]);

/// A chart.
pub(crate) struct ChartPanel {
    pub title: &'static str,
    /// In Grafana's words.
    pub unit: &'static str,
    /// Queries, each with the legend of its lines.
    pub queries: &'static [(&'static str, &'static str)],
}

const fn panel(
    title: &'static str,
    unit: &'static str,
    queries: &'static [(&'static str, &'static str)],
) -> ChartPanel {
    ChartPanel { title, unit, queries }
}

/// Every row.
pub(crate) const ROWS: [PanelRow; 10] = [
    ("Alarms", ALARMS),
    ("Traffic", TRAFFIC),
    ("Cache", CACHE),
    ("Latency", LATENCY),
    ("Upstreams", UPSTREAMS),
    ("Workers", WORKERS),
    ("Models", MODELS),
    ("Profiles", PROFILES),
    ("Journal and sinks", JOURNAL),
    ("statsd (its page is /statsd/metrics)", STATSD),
];

const ALARMS: &[ChartPanel] = &[panel(
    "Alarms",
    "short",
    &[("sum by (kind, instance) (tidegate_alarms{$i}) > 0", "{{kind}} {{instance}}")],
)];

const TRAFFIC: &[ChartPanel] = &[
    panel(
        "Requests by decision",
        "reqps",
        &[("sum by (decision) (rate(tidegate_exchanges_total{$i}[$r]))", "{{decision}}")],
    ),
    panel(
        "Requests by status",
        "reqps",
        &[("sum by (status) (rate(tidegate_statuses_total{$i}[$r]))", "{{status}}")],
    ),
    panel(
        "Refused",
        "reqps",
        &[
            ("sum(rate(tidegate_shed_total{$i}[$r]))", "shed at a bound"),
            ("sum(rate(tidegate_client_refusals_total{$i}[$r]))", "share of one client"),
            ("sum(rate(tidegate_refused_connections_total{$i}[$r]))", "connections"),
            ("sum(rate(tidegate_inflight_refusals_total{$i}[$r]))", "bytes in flight"),
            ("sum(rate(tidegate_unrouted_total{$i}[$r]))", "no route"),
        ],
    ),
    panel(
        "Bytes in flight",
        "bytes",
        &[("sum by (instance) (tidegate_inflight_bytes{$i})", "{{instance}}")],
    ),
];

const CACHE: &[ChartPanel] = &[
    panel(
        "Hit ratio",
        "percentunit",
        &[(
            "sum(rate(tidegate_exchanges_total{$i, cache=\"hit\"}[$r])) / \
             sum(rate(tidegate_exchanges_total{$i}[$r]))",
            "all requests",
        )],
    ),
    panel(
        "Requests by outcome",
        "reqps",
        &[("sum by (cache) (rate(tidegate_exchanges_total{$i}[$r]))", "{{cache}}")],
    ),
    panel(
        "Stored bytes",
        "bytes",
        &[("sum(tidegate_cache_bytes{$i})", "memory"), ("sum(tidegate_disk_bytes{$i})", "disk")],
    ),
    panel(
        "Look-ups on disk",
        "ops",
        &[("sum by (result) (rate(tidegate_disk_lookups_total{$i}[$r]))", "{{result}}")],
    ),
];

const LATENCY: &[ChartPanel] = &[
    panel(
        "Time of a request",
        "s",
        &[
            (
                "histogram_quantile(0.5, sum by (le) \
                 (rate(tidegate_exchange_seconds_bucket{$i}[$r])))",
                "p50",
            ),
            (
                "histogram_quantile(0.99, sum by (le) \
                 (rate(tidegate_exchange_seconds_bucket{$i}[$r])))",
                "p99",
            ),
        ],
    ),
    panel(
        "p99 by route",
        "s",
        &[(
            "histogram_quantile(0.99, sum by (le, route) \
             (rate(tidegate_exchange_seconds_bucket{$i}[$r])))",
            "{{route}}",
        )],
    ),
    panel(
        "p99 by phase",
        "s",
        &[(
            "histogram_quantile(0.99, sum by (le, phase) \
             (rate(tidegate_phase_seconds_bucket{$i}[$r])))",
            "{{phase}}",
        )],
    ),
];

const UPSTREAMS: &[ChartPanel] = &[
    panel(
        "Fetches",
        "reqps",
        &[
            ("sum(rate(tidegate_fetches_total{$i}[$r]))", "fetches"),
            ("sum(rate(tidegate_broken_answers_total{$i}[$r]))", "broken answers"),
        ],
    ),
    panel(
        "Failed fetches by reason",
        "reqps",
        &[("sum by (reason) (rate(tidegate_fetch_failures_total{$i}[$r])) > 0", "{{reason}}")],
    ),
    panel(
        "Flights and waiters",
        "short",
        &[("sum(tidegate_flights{$i})", "flights"), ("sum(tidegate_waiters{$i})", "waiters")],
    ),
    panel(
        "Servers of names",
        "short",
        &[
            ("sum by (upstream) (tidegate_upstream_servers{$i})", "{{upstream}}"),
            ("sum by (upstream) (tidegate_names_stale{$i})", "{{upstream}}: names in trouble"),
        ],
    ),
];

const WORKERS: &[ChartPanel] = &[
    panel(
        "Workers",
        "short",
        &[
            ("sum by (pool) (tidegate_workers{$i})", "{{pool}}: in service"),
            ("sum by (pool) (tidegate_workers_busy{$i})", "{{pool}}: busy"),
            ("sum by (pool) (tidegate_workers_waiting{$i})", "{{pool}}: requests that wait"),
        ],
    ),
    panel(
        "p99 of the wait for a worker",
        "s",
        &[(
            "histogram_quantile(0.99, sum by (le, pool) \
             (rate(tidegate_workers_wait_seconds_bucket{$i}[$r])))",
            "{{pool}}",
        )],
    ),
    panel(
        "Replaced workers by reason",
        "ops",
        &[(
            "sum by (pool, reason) (rate(tidegate_workers_restarts_total{$i}[$r]))",
            "{{pool}}: {{reason}}",
        )],
    ),
    panel(
        "Memory of workers",
        "bytes",
        &[
            (
                "sum by (pool) (tidegate_workers_pss_bytes{$i})",
                "{{pool}}: with its share of the model",
            ),
            ("sum by (pool) (tidegate_workers_private_bytes{$i})", "{{pool}}: private"),
        ],
    ),
];

const MODELS: &[ChartPanel] = &[
    panel(
        "Embedded texts",
        "ops",
        &[("sum by (model) (rate(tidegate_texts_embedded{$i}[$r]))", "{{model}}")],
    ),
    panel(
        "Vectors from memory",
        "percentunit",
        &[(
            "sum by (model) (rate(tidegate_texts_hits{$i}[$r])) / sum by (model) \
             (rate(tidegate_texts_hits{$i}[$r]) + rate(tidegate_texts_misses{$i}[$r]))",
            "{{model}}",
        )],
    ),
    panel(
        "p99 of a score, and of the wait for it",
        "s",
        &[(
            "histogram_quantile(0.99, sum by (le, phase) \
             (rate(tidegate_phase_seconds_bucket{$i, phase=~\"features|queue|score\"}[$r])))",
            "{{phase}}",
        )],
    ),
];

const PROFILES: &[ChartPanel] = &[
    panel(
        "Users with a list of their own",
        "percentunit",
        &[(
            "sum(rate(tidegate_exchanges_total{$i, decision=\"personalised\"}[$r])) / \
             sum(rate(tidegate_exchanges_total{$i, decision!=\"generic\"}[$r]))",
            "of personalised routes",
        )],
    ),
    panel(
        "Fallbacks by reason",
        "reqps",
        &[("sum by (reason) (rate(tidegate_fallbacks_total{$i}[$r])) > 0", "{{reason}}")],
    ),
    panel(
        "Journal not yet in profiles",
        "bytes",
        &[
            (
                "sum by (instance) (tidegate_journal_unread_bytes{$i, consumer=\"profiles\"})",
                "{{instance}}",
            ),
            (
                "sum(tidegate_journal_deleted_unread_bytes{$i, consumer=\"profiles\"})",
                "deleted unread",
            ),
        ],
    ),
];

const JOURNAL: &[ChartPanel] = &[
    panel(
        "Written",
        "Bps",
        &[("sum by (instance) (rate(tidegate_journal_bytes{$i}[$r]))", "{{instance}}")],
    ),
    panel(
        "Behind, by consumer",
        "bytes",
        &[(
            "sum by (consumer, instance) (tidegate_journal_unread_bytes{$i})",
            "{{consumer}} {{instance}}",
        )],
    ),
    panel(
        "Waiting and not recorded",
        "short",
        &[
            ("sum(tidegate_journal_waiting_lines{$i})", "waiting lines"),
            ("sum(tidegate_journal_unrecorded_lines{$i})", "lines not recorded"),
            ("sum(tidegate_unrecorded_total{$i})", "exchanges not recorded"),
            ("sum(tidegate_journal_sync_failures{$i})", "syncs that failed"),
        ],
    ),
];

const STATSD: &[ChartPanel] = &[
    panel(
        "Received",
        "ops",
        &[
            ("sum(rate(tidegate_statsd_lines_total{$i}[$r]))", "lines"),
            ("sum(rate(tidegate_statsd_packets_total{$i}[$r]))", "datagrams"),
        ],
    ),
    panel(
        "Lost",
        "ops",
        &[
            ("sum by (reason) (rate(tidegate_statsd_bad_lines_total{$i}[$r])) > 0", "{{reason}}"),
            ("sum(rate(tidegate_statsd_kernel_dropped_total{$i}[$r]))", "dropped by the kernel"),
            ("sum(rate(tidegate_statsd_notices_dropped_total{$i}[$r]))", "events and checks"),
        ],
    ),
];
