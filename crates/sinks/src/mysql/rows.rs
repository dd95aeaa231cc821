//! Runs any query in MariaDB or MySQL and hands over its rows, by the text protocol: values are
//! text.
//!
//! A new connection is made for each query. The session is set to read only first, which a second
//! statement in the text can undo. No time limit holds after connecting. NULL is `None`.
//! `read_back.rs` parses these texts for its own statements, `profiles/src/query.rs` reads times.
//! Elsewhere: which engine runs a query (`rows.rs`).

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row, Value};
use pipeline::SinkError;

use super::ENGINE;
use super::connection::{MySqlConnection, connect};
use crate::address::ServerAddress;
use crate::attempt::AttemptError;
use crate::take_row::TakeRow;

const READ_ONLY: &str = "SET SESSION TRANSACTION READ ONLY";

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
    let MySqlConnection { mut session, runtime } = connect(address).map_err(failed)?;
    let done = runtime.block_on(read(&mut session.connection, query, take)).map_err(failed);
    // The driver's farewell needs its runtime, and nobody waits for it.
    let _guard = runtime.enter();
    drop(session);
    done
}

async fn read(
    connection: &mut Conn,
    query: &str,
    take: &mut TakeRow<'_>,
) -> Result<(), AttemptError> {
    connection.query_drop(READ_ONLY).await?;
    let mut result = connection.query_iter(query).await?;
    let columns = result.columns_ref().iter().map(|column| column.name_str().into_owned());
    let columns: Vec<String> = columns.collect();
    while let Some(row) = result.next().await? {
        let values = Row::unwrap(row);
        let cells = values.iter().map(|value| match value {
            Value::Bytes(text) => Some(text.as_slice()),
            _ => None,
        });
        if take(&columns, &cells.collect::<Vec<_>>()).is_break() {
            break;
        }
    }
    Ok(())
}
