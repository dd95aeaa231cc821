//! Writes the dashboard for Grafana: rows of charts, three beside each other.
//!
//! Two variables choose the data source and the instances. Keys of the JSON are sorted, so the file
//! differs where the lists differ.

use serde_json::{Value, json};

use crate::panels::{ChartPanel, ROWS};

const COLUMNS: usize = 3;
/// Grafana's grid is this wide.
const WIDTH: usize = 24;
const HEIGHT: usize = 8;
/// What `$i` and `$r` of a query stand for.
const INSTANCES: &str = "instance=~\"$instance\"";
const INTERVAL: &str = "$__rate_interval";

/// Writes the dashboard.
pub(crate) fn dashboard() -> String {
    let document = json!({
        "title": "Tidegate", "uid": "tidegate", "tags": ["tidegate"], "schemaVersion": 39,
        "editable": true, "refresh": "30s", "time": { "from": "now-3h", "to": "now" },
        "templating": { "list": [
            { "name": "datasource", "type": "datasource", "query": "prometheus",
              "label": "Data source" },
            { "name": "instance", "type": "query", "label": "Instance",
              "datasource": source(), "query": "label_values(tidegate_alarms, instance)",
              "refresh": 2, "multi": true, "includeAll": true,
              "current": { "text": "All", "value": "$__all" } },
        ] },
        "panels": panels(),
    });
    format!("{document:#}\n")
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

fn panels() -> Vec<Value> {
    let mut all = Vec::new();
    let mut y = 0;
    for (title, panels) in &ROWS {
        let row = json!({
            "type": "row", "title": title, "id": all.len() + 1, "collapsed": false,
            "gridPos": { "x": 0, "y": y, "w": WIDTH, "h": 1 }, "panels": [],
        });
        all.push(row);
        y += 1;
        for (at, panel) in panels.iter().enumerate() {
            let (x, down) = (at % COLUMNS * (WIDTH / COLUMNS), at / COLUMNS * HEIGHT);
            all.push(chart(panel, all.len() + 1, x, y + down));
        }
        y += panels.len().div_ceil(COLUMNS) * HEIGHT;
    }
    all
}

fn chart(panel: &ChartPanel, id: usize, x: usize, y: usize) -> Value {
    let queries = panel.queries.iter().zip('A'..);
    let target = |((query, legend), letter): (&(&str, &str), char)| {
        let query = query.replace("$i", INSTANCES).replace("$r", INTERVAL);
        json!({ "refId": letter, "legendFormat": legend, "datasource": source(), "expr": query })
    };
    let targets: Vec<Value> = queries.map(target).collect();
    json!({
        "type": "timeseries", "title": panel.title, "id": id, "datasource": source(),
        "gridPos": { "x": x, "y": y, "w": WIDTH / COLUMNS, "h": HEIGHT },
        "fieldConfig": { "defaults": { "unit": panel.unit, "min": 0 }, "overrides": [] },
        "options": { "legend": { "displayMode": "list", "placement": "bottom" },
                     "tooltip": { "mode": "multi", "sort": "desc" } },
        "targets": targets,
    })
}
