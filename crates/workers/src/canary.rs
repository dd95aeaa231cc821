//! Asks a new worker the first request of its life, over the worker's own socket (HTTP/1.1, RFC
//! 9112).
//!
//! Invariant: the canary has succeeded only if there was a status line, it had the expected status,
//! and the worker closed the connection. The rest of the answer is read and not looked at. So an
//! app that hangs after a fork is found before it gets requests.
//! Bounds: 64 KiB are read as the status line; what follows has none but the caller's deadline
//! (`supervise/execute.rs`).
//! The request asks to close: the worker then says `free`, which `slot.rs` waits for as the
//! canary's (`owes_canary`).
//! Refuses: kept connections, request bodies, redirects. Whether the worker is then lent is decided
//! in `supervise/messages.rs`.

use std::io;
use std::path::Path;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::plan::Canary;

const LINE_BYTES_MAX: u64 = 64 << 10;

/// Asks, and reads the answer to its end.
///
/// # Errors
/// In words, when there is no answer or it is not the one expected; the deadline is the caller's.
pub(crate) async fn ask(socket: &Path, canary: &Canary) -> Result<(), String> {
    let failed =
        |error: io::Error| format!("the canary `GET {}` got no answer: {error}", canary.path);
    let stream = UnixStream::connect(socket).await.map_err(failed)?;
    let status = exchange(stream, &canary.path).await.map_err(failed)?;
    match canary.status {
        Some(expected) if expected != status => {
            Err(format!("the canary `GET {}` was answered {status}, not {expected}", canary.path))
        }
        _ => Ok(()),
    }
}

async fn exchange(mut stream: UnixStream, path: &str) -> io::Result<u16> {
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: tidegate-canary\r\n\
         accept: */*\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    (&mut stream).take(LINE_BYTES_MAX).read_line(&mut line).await?;
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
    let status = status.ok_or_else(|| {
        let what = if line.is_empty() { "the connection was closed" } else { "that is no HTTP" };
        io::Error::new(io::ErrorKind::InvalidData, what)
    })?;
    // The worker closes when it is done; until then it is not free.
    let mut piece = [0; 4096];
    while stream.read(&mut piece).await? > 0 {}
    Ok(status)
}
