//! Rows of any query, by the simple protocol, in which every value is text.

use std::pin::pin;

use futures_util::TryStreamExt;
use pipeline::SinkError;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::{ENGINE, connect};
use crate::address::Address;
use crate::rows::TakeRow;
use crate::trouble::Trouble;

const SETTINGS: &str = "SET statement_timeout = 0; SET default_transaction_read_only = on; \
                        SET TimeZone = 'UTC'; SET DateStyle = 'ISO'";

/// Runs `query` and hands each row over.
///
/// # Errors
/// When the server is not there or refuses.
pub(crate) fn rows(
    address: &Address,
    query: &str,
    take: &mut TakeRow<'_>,
) -> Result<(), SinkError> {
    let told = |trouble: Trouble| trouble.told(ENGINE, address);
    let link = connect(address).map_err(told)?;
    link.runtime.block_on(read(&link.client, query, take)).map_err(told)
}

async fn read(client: &Client, query: &str, take: &mut TakeRow<'_>) -> Result<(), Trouble> {
    client.batch_execute(SETTINGS).await?;
    let mut messages = pin!(client.simple_query_raw(query).await?);
    let mut columns: Vec<String> = Vec::new();
    while let Some(message) = messages.try_next().await? {
        match message {
            SimpleQueryMessage::RowDescription(described) => {
                columns = described.iter().map(|column| column.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                let cells = (0..row.len()).map(|at| row.get(at).map(str::as_bytes));
                if take(&columns, &cells.collect::<Vec<_>>()).is_break() {
                    break;
                }
            }
            _ => {}
        }
    }
    Ok(())
}
