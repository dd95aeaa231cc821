//! The data of the ranking rows: 674 items, a model, and users.
//!
//! An item has 50 numbers, and each user has 50 affinities. The model multiplies each number with
//! an affinity. So every one of the 674 × 50 products depends on both the item and the user, and no
//! server can compute one before the request.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::setup::Setup;

/// Candidates of a request.
pub(crate) const ITEMS: usize = 674;
/// Features of a candidate.
pub(crate) const FEATURES: usize = 50;

/// Writes `items.jsonl` and `model.json`; returns their folder.
pub(crate) fn write(setup: &Setup) -> Result<PathBuf> {
    let dir = setup.dir("ranking")?;
    let mut items = String::new();
    for item in 0..ITEMS {
        let mut fields = json!({
            "id": id(item), "title": format!("Headline number {item}"), "category": "b",
        });
        for feature in 0..FEATURES {
            fields[field(feature)] = Value::from(noise(item * FEATURES + feature));
        }
        writeln!(items, "{fields}")?;
    }
    fs::write(dir.join("items.jsonl"), items)?;
    let crosses: Vec<Value> = (0..FEATURES)
        .map(|feature| {
            json!({
                "left": format!("user.affinity.{}", category(feature)),
                "right": format!("item.{}", field(feature)),
                "weight": 4.0 * noise(1_000_000 + feature) - 2.0,
            })
        })
        .collect();
    let model = json!({
        "format": "tidegate-linear-1", "name": "ranking", "version": "1", "link": "logistic",
        "intercept": -1.0, "features": [], "crosses": crosses,
    });
    fs::write(dir.join("model.json"), model.to_string())?;
    Ok(dir)
}

/// Writes a profile database of `users` users named `u00000000`, …; returns its path.
pub(crate) fn write_profiles(dir: &Path, users: usize) -> Result<PathBuf> {
    let path = dir.join("profiles.db");
    let rows = (0..users).map(|user| {
        let profile =
            json!({ "affinity": affinity(user), "reads": 20, "recent": [id(user % ITEMS)] });
        (user_id(user), profile.to_string())
    });
    write_database(&path, rows)?;
    Ok(path)
}

/// Writes a profile database of the published schema with these ids and data.
pub(crate) fn write_database(
    path: &Path,
    rows: impl Iterator<Item = (String, String)>,
) -> Result<()> {
    let mut database = Connection::open(path)?;
    database.pragma_update(None, "journal_mode", "OFF")?;
    database.pragma_update(None, "synchronous", "OFF")?;
    database.execute_batch(
        "create table user_profiles (profile_id char(100) primary key not null, data text)",
    )?;
    let transaction = database.transaction()?;
    {
        let mut insert = transaction.prepare("insert into user_profiles values (?1, ?2)")?;
        for row in rows {
            insert.execute(row)?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Id of a user with a profile.
pub(crate) fn user_id(user: usize) -> String {
    format!("u{user:08}")
}

/// The ids of all items, as JSON.
pub(crate) fn ids() -> Value {
    (0..ITEMS).map(id).collect()
}

/// A user's affinities; they sum to 1.
pub(crate) fn affinity(user: usize) -> Value {
    let raw: Vec<f64> = (0..FEATURES).map(|n| 0.01 + noise(7 * user + n)).collect();
    let total: f64 = raw.iter().sum();
    let rounded = |value: f64| (value / total * 1e4).round() / 1e4;
    raw.iter().enumerate().map(|(n, value)| (category(n), Value::from(rounded(*value)))).collect()
}

fn id(item: usize) -> String {
    (100_000 + item).to_string()
}

fn field(feature: usize) -> String {
    format!("f{feature:02}")
}

fn category(feature: usize) -> String {
    format!("c{feature:02}")
}

/// A reproducible number in [0, 1) with four digits: MurmurHash3's finaliser of `n`.
fn noise(n: usize) -> f64 {
    let mut z = n as u64 + 1;
    z = (z ^ (z >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    z = (z ^ (z >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    ((z ^ (z >> 33)) % 10_000) as f64 / 1e4
}
