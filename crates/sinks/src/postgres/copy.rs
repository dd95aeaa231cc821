//! Sends rows by binary COPY (PostgreSQL documentation, SQL COPY, "Binary Format").
//!
//! Rows go into the table itself, or into its temporary twin with their numbers. They are sent in
//! chunks of about 64 KiB. They must be sanitised (`sanitise.rs`): PostgreSQL refuses the whole
//! COPY for one bad value.
//! The server does not convert binary values. So `put` writes just the types in
//! `postgres/dialect.rs`; a type that changes there changes here.

use std::pin::pin;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;
use pipeline::Table;
use tokio_postgres::{Error, Transaction};

use super::dialect::{DIALECT, ROW};
use crate::sanitise::{SanitisedRows, SqlValue};

/// What is sent at once.
const CHUNK_BYTES: usize = 64 << 10;
/// 2000-01-01, where PostgreSQL's times begin; microseconds since the Unix epoch.
const EPOCH: i64 = 946_684_800_000_000;

/// Copies rows into the table itself.
pub(super) async fn into_table(
    transaction: &Transaction<'_>,
    table: &Table,
    rows: &SanitisedRows<'_>,
) -> Result<(), Error> {
    let target = format!("{} ({})", DIALECT.quoted(&table.name), DIALECT.stored_names(table));
    copy(transaction, &target, rows, false).await
}

/// Copies rows into the table's twin `stage`, with their numbers.
pub(super) async fn into_stage(
    transaction: &Transaction<'_>,
    stage: &str,
    table: &Table,
    rows: &SanitisedRows<'_>,
) -> Result<(), Error> {
    let target = format!("{stage} ({ROW}, {})", DIALECT.stored_names(table));
    copy(transaction, &target, rows, true).await
}

async fn copy(
    transaction: &Transaction<'_>,
    target: &str,
    rows: &SanitisedRows<'_>,
    is_numbered: bool,
) -> Result<(), Error> {
    let text = format!("COPY {target} FROM STDIN (FORMAT binary)");
    let mut sink = pin!(transaction.copy_in::<_, Bytes>(&text).await?);
    let mut buffer = BytesMut::with_capacity(CHUNK_BYTES * 2);
    buffer.put_slice(b"PGCOPY\n\xff\r\n\0");
    buffer.put_u64(0);
    for (number, row) in (0..).zip(rows.rows()) {
        let width = row.len() + usize::from(is_numbered);
        buffer.put_i16(i16::try_from(width).expect("a table has fewer columns"));
        if is_numbered {
            put(&SqlValue::Integer(number), &mut buffer);
        }
        row.iter().for_each(|value| put(value, &mut buffer));
        if buffer.len() >= CHUNK_BYTES {
            sink.send(buffer.split().freeze()).await?;
        }
    }
    buffer.put_i16(-1);
    sink.send(buffer.freeze()).await?;
    sink.finish().await?;
    Ok(())
}

fn put(value: &SqlValue<'_>, buffer: &mut BytesMut) {
    match value {
        SqlValue::Absent => buffer.put_i32(-1),
        SqlValue::Integer(number) => {
            buffer.put_i32(8);
            buffer.put_i64(*number);
        }
        SqlValue::Real(number) => {
            buffer.put_i32(8);
            buffer.put_f64(*number);
        }
        SqlValue::Time(us) => {
            buffer.put_i32(8);
            buffer.put_i64(us - EPOCH);
        }
        SqlValue::Text(text) => put_bytes(text.as_bytes(), buffer),
        SqlValue::Blob(bytes) => put_bytes(bytes, buffer),
    }
}

fn put_bytes(bytes: &[u8], buffer: &mut BytesMut) {
    buffer.put_i32(i32::try_from(bytes.len()).expect("windows are bounded"));
    buffer.put_slice(bytes);
}
