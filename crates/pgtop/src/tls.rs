//! Gives the driver its encrypted streams by rustls, and says which certificates are believed.
//!
//! As in `sinks`, which may not be used here. `prefer` and `require` look at no certificate.
//! `verify-full` wants one for the server's name, of `sslrootcert` or of the web's authorities.
//! There is no channel binding.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{self, ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use trust::{Trust, TrustError};

use crate::address::{PgAddress, PgEncryption};

/// What rustls is to do for an address; nothing where the connection is not encrypted.
pub(crate) fn config(address: &PgAddress) -> Result<Option<Arc<ClientConfig>>, TrustError> {
    let is_local = address.host.starts_with('/');
    let trust = match (&address.encryption, &address.root_certificates) {
        (PgEncryption::Disable, _) => return Ok(None),
        // libpq does not encrypt local sockets either.
        _ if is_local => return Ok(None),
        (PgEncryption::Prefer | PgEncryption::Require, _) => Trust::Anyone,
        (PgEncryption::VerifyFull, Some(file)) => Trust::File(file),
        (PgEncryption::VerifyFull, None) => Trust::Web,
    };
    Ok(Some(Arc::new(trust.client()?)))
}

/// Makes encrypted connections by one configuration.
#[derive(Clone)]
pub(crate) struct PgTls(pub(crate) Arc<ClientConfig>);

/// Makes one encrypted connection.
pub(crate) struct PgHandshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// An encrypted connection.
pub(crate) struct PgTlsStream(Box<TlsStream<Socket>>);

impl MakeTlsConnect<Socket> for PgTls {
    type Stream = PgTlsStream;
    type TlsConnect = PgHandshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<PgHandshake, InvalidDnsNameError> {
        let name = ServerName::try_from(host)?.to_owned();
        Ok(PgHandshake { config: Arc::clone(&self.0), name })
    }
}

impl TlsConnect<Socket> for PgHandshake {
    type Stream = PgTlsStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<PgTlsStream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let stream = TlsConnector::from(self.config).connect(self.name, socket).await?;
            Ok(PgTlsStream(Box::new(stream)))
        })
    }
}

impl tls::TlsStream for PgTlsStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for PgTlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for PgTlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
