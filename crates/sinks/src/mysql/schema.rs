//! Makes tables of MariaDB and MySQL that are missing, and checks those that are there.
//!
//! A lock of the server keeps two processes from making tables at once. Columns that are missing
//! are added (`existing.rs` tells which). `describe` names types as `DIALECT` has them, or such
//! tables are refused.
//! Text in keys is `varchar`, compared byte by byte. The collation is the first of
//! `utf8mb4_nopad_bin`, `utf8mb4_0900_bin` and `utf8mb4_bin` that the server has. The first two do
//! not pad, so `/a` and `/a ` are two keys; with `utf8mb4_bin` they are one.
//! Also here: how many characters each text key has room for. An InnoDB key has 3,072 bytes, and a
//! character may take four. A table that is there keeps its widths, which `key_limits` reads. So
//! other widths change new tables only. The page docs/operating/sinks.md names the collations and
//! some 700 characters.

use std::sync::Arc;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use pipeline::{Column, Kind, Table};

use super::dialect::DIALECT;
use crate::attempt::AttemptError;
use crate::existing::{self, ExistingColumn, ExistingTable};
use crate::readable;
use crate::sanitise::KeyLimit;
use crate::sql::{self, CHECKPOINTS};

const NAME_BYTES_MAX: usize = 64;
const KEY_BYTES_MAX: usize = 3072;
/// What a number or a time takes of a key.
const NUMBER_BYTES: usize = 8;
/// What the name of a machine has of a key, as in host names.
const NODE_CHARACTERS: usize = 64;
/// Taken while tables are made, so that no column is added twice.
const LOCK: &str = "tidegate prepares tables";
const OPTIONS: &str = "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 ROW_FORMAT=DYNAMIC";

pub(super) async fn prepare(
    connection: &mut Conn,
    tables: &[Arc<Table>],
    limit: Duration,
) -> Result<(), AttemptError> {
    let locked: Option<i64> =
        connection.exec_first("SELECT GET_LOCK(?, ?)", (LOCK, limit.as_secs())).await?;
    if locked != Some(1) {
        return Err(AttemptError::Unreachable("another process prepares tables".to_owned()));
    }
    let prepared = prepare_alone(connection, tables).await;
    // Where this fails, the connection does, and its end frees the lock.
    connection.exec_drop("DO RELEASE_LOCK(?)", (LOCK,)).await?;
    prepared
}

/// How long each key may be in the table as it is.
pub(super) async fn key_limits(
    connection: &mut Conn,
    table: &Table,
) -> Result<Vec<KeyLimit>, AttemptError> {
    let existing = describe(connection, &table.name).await?;
    let limit = |key: &Column| {
        let stored = existing.column(&key.name).and_then(|stored| stored.characters_max);
        KeyLimit::Characters(stored.unwrap_or_else(|| characters(table, key)))
    };
    Ok(table.columns[..table.keys()].iter().map(limit).collect())
}

async fn prepare_alone(connection: &mut Conn, tables: &[Arc<Table>]) -> Result<(), AttemptError> {
    let collation = collation(connection).await?;
    if describe(connection, CHECKPOINTS).await?.columns.is_empty() {
        let name = format!("varchar(255) CHARACTER SET utf8mb4 COLLATE {collation} NOT NULL");
        let text = format!(
            "CREATE TABLE IF NOT EXISTS {CHECKPOINTS} (node {name}, source {name}, \
             sequence bigint NOT NULL, position longtext NOT NULL, PRIMARY KEY (node, source)) \
             {OPTIONS}"
        );
        connection.query_drop(text).await?;
    }
    for table in &readable::widened(tables) {
        existing::check_names(table, NAME_BYTES_MAX).map_err(AttemptError::Refused)?;
        let key_text = |key: &Column| {
            let characters = characters(table, key);
            format!("varchar({characters}) CHARACTER SET utf8mb4 COLLATE {collation}")
        };
        let existing = describe(connection, &table.name).await?;
        if existing.columns.is_empty() {
            let create = DIALECT.create(table, key_text);
            connection.query_drop(format!("{create} {OPTIONS}")).await?;
            continue;
        }
        let lacks = existing.lacks(table, &DIALECT, "varchar");
        for column in lacks.map_err(AttemptError::Refused)? {
            connection.query_drop(DIALECT.add_column(table, column)).await?;
        }
    }
    Ok(())
}

/// Characters of a text key in a table that we make: the texts share what numbers and the machine's
/// name leave.
fn characters(table: &Table, key: &Column) -> usize {
    if sql::is_node(table, key) {
        return NODE_CHARACTERS;
    }
    let keys = table.columns[..table.keys()].iter();
    let numbers = keys.filter(|key| key.kind != Kind::Text).count() * NUMBER_BYTES;
    let room = (KEY_BYTES_MAX / 4).saturating_sub(numbers.div_ceil(4) + NODE_CHARACTERS);
    room / sql::key_texts(table).max(1)
}

/// The best order for keys that the server has.
async fn collation(connection: &mut Conn) -> Result<&'static str, AttemptError> {
    for name in ["utf8mb4_nopad_bin", "utf8mb4_0900_bin"] {
        let text = "SELECT 1 FROM information_schema.collations WHERE collation_name = ?";
        let known: Option<i64> = connection.exec_first(text, (name,)).await?;
        if known.is_some() {
            return Ok(name);
        }
    }
    Ok("utf8mb4_bin")
}

async fn describe(connection: &mut Conn, name: &str) -> Result<ExistingTable, AttemptError> {
    // A text in a key must be told apart by bytes: another collation is part of its type.
    let columns = "SELECT CAST(column_name AS CHAR), CAST(CASE \
         WHEN data_type = 'varchar' AND collation_name NOT LIKE 'utf8mb4%\\_bin' \
         THEN CONCAT(data_type, ' collate ', collation_name) \
         WHEN data_type = 'datetime' OR column_type LIKE '%unsigned%' THEN column_type \
         ELSE data_type END AS CHAR), \
         is_nullable = 'NO' AND column_default IS NULL \
         AND extra NOT LIKE '%auto_increment%' AND extra NOT LIKE '%GENERATED%', \
         IF(data_type = 'varchar', character_maximum_length, NULL) \
         FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?";
    let uniques = "SELECT CAST(GROUP_CONCAT(column_name) AS CHAR) \
         FROM information_schema.statistics WHERE table_schema = DATABASE() \
         AND table_name = ? AND non_unique = 0 \
         GROUP BY index_name HAVING MAX(sub_part) IS NULL";
    let columns: Vec<(String, String, bool, Option<u64>)> =
        connection.exec(columns, (name,)).await?;
    let uniques: Vec<String> = connection.exec(uniques, (name,)).await?;
    let column = |(name, kind, is_required, characters): (_, _, _, Option<u64>)| ExistingColumn {
        name,
        kind,
        is_required,
        characters_max: characters.and_then(|count| usize::try_from(count).ok()),
    };
    Ok(ExistingTable {
        columns: columns.into_iter().map(column).collect(),
        uniques: uniques
            .iter()
            .map(|names| names.split(',').map(str::to_owned).collect())
            .collect(),
    })
}

#[cfg(test)]
mod tests;
