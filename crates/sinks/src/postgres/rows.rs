//! Runs any query in PostgreSQL and hands over its rows, by the simple protocol: values are text.
//!
//! A new connection is made for each query. It has no statement timeout, times in UTC, and
//! transactions that only read by default, which the text itself can undo. NULL is `None`.
//! `read_back.rs` parses these texts for its own statements, `profiles/src/query.rs` reads times as
//! `SETTINGS` has them written. Elsewhere: which engine runs a query (`rows.rs`).

use std::pin::pin;

use futures_util::TryStreamExt;
use pipeline::SinkError;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::ENGINE;
use super::connection::connect;
use crate::address::ServerAddress;
use crate::attempt::AttemptError;
use crate::take_row::TakeRow;

const SETTINGS: &str = "SET statement_timeout = 0; SET default_transaction_read_only = on; \
                        SET TimeZone = 'UTC'; SET DateStyle = 'ISO'";

/// Runs `query` and hands each row over.
///
/// # Errors
/// When the server is not there or refuses.
pub(crate) fn rows(
    address: &ServerAddress,
    query: &str,
    take: &mut TakeRow<'_>,
) -> Result<(), SinkError> {
    let failed = |error: AttemptError| error.into_sink_error(ENGINE, address);
    let connection = connect(address).map_err(failed)?;
    connection.runtime.block_on(read(&connection.client, query, take)).map_err(failed)
}

async fn read(client: &Client, query: &str, take: &mut TakeRow<'_>) -> Result<(), AttemptError> {
    client.batch_execute(SETTINGS).await?;
    let mut messages = pin!(client.simple_query_raw(query).await?);
    let mut columns: Vec<String> = Vec::new();
    while let Some(message) = messages.try_next().await? {
        match message {
            SimpleQueryMessage::RowDescription(described) => {
                columns = described.iter().map(|column| column.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                // A server may send what is no text at all.
                let cells = (0..row.len())
                    .map(|at| Ok(row.try_get(at)?.map(str::as_bytes)))
                    .collect::<Result<Vec<_>, tokio_postgres::Error>>()?;
                if take(&columns, &cells).is_break() {
                    break;
                }
            }
            _ => {}
        }
    }
    Ok(())
}
