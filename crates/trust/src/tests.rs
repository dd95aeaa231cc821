//! Claims about whom a client believes, by handshakes between two ends in memory.

use std::error::Error as _;
use std::time::Duration;

use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, ClientConnection, Error, ServerConfig, ServerConnection};

use super::*;

type Version = &'static rustls::SupportedProtocolVersion;

fn certificates(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testkit/src/certificates").join(name)
}

/// Somebody's key, to which no certificate belongs.
const OTHER_KEY: &[u8] = b"-----BEGIN PRIVATE KEY-----\n\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgf5rIVWojoGQGtxze\n\
YIkYH/DCiOEC45QxFTJHxElLPMGhRANCAAQrcZRVfFjmAsloopKilNJmqnP+tvkS\n\
IE9+StAoC/MB92D9tXFrMvHiIFXkTDNS1R/XCirf3TxZEay9V5D56s6g\n\
-----END PRIVATE KEY-----\n";

fn own_key() -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_file(certificates("server.key")).unwrap()
}

/// A server that shows the certificate of loopback, and signs with `key`.
fn server(key: PrivateKeyDer<'static>, version: Version) -> ServerConnection {
    shows("server.pem", key, version)
}

fn shows(file: &str, key: PrivateKeyDer<'static>, version: Version) -> ServerConnection {
    let certificate = CertificateDer::from_pem_file(certificates(file)).unwrap();
    let provider = ring::default_provider();
    let key = provider.key_provider.load_private_key(key).unwrap();
    let shown = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
    let builder = ServerConfig::builder_with_provider(Arc::new(provider));
    let builder = builder.with_protocol_versions(&[version]).unwrap().with_no_client_auth();
    ServerConnection::new(Arc::new(builder.with_cert_resolver(Arc::new(shown)))).unwrap()
}

/// What a client says of a server by this name.
fn believes(trust: Trust<'_>, host: &str, mut server: ServerConnection) -> Result<(), Error> {
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let config = Arc::new(trust.client().unwrap());
    let mut client = ClientConnection::new(config, name).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        server.read_tls(&mut wire.as_slice()).unwrap();
        server.process_new_packets()?;
        wire.clear();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        client.read_tls(&mut wire.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    Ok(())
}

#[test]
fn an_authority_of_a_file_is_believed_for_the_names_that_it_signed() {
    let authority = certificates("authority.pem");
    let trust = Trust::File(&authority);
    assert_eq!(believes(trust, "127.0.0.1", server(own_key(), &TLS13)), Ok(()));
    let refused = believes(trust, "127.0.0.2", server(own_key(), &TLS13)).unwrap_err();
    let Error::InvalidCertificate(reason) = refused else { panic!("{refused}") };
    assert!(matches!(reason, CertificateError::NotValidForNameContext { .. }), "{reason:?}");
}

#[test]
fn a_certificate_that_stands_in_the_file_is_believed_for_its_names_alone() {
    let own = || PrivateKeyDer::from_pem_file(certificates("selfsigned.key")).unwrap();
    let listed = certificates("selfsigned.pem");
    for version in [&TLS12, &TLS13] {
        let shown = |key| shows("selfsigned.pem", key, version);
        assert_eq!(believes(Trust::File(&listed), "127.0.0.1", shown(own())), Ok(()));
        let elsewhere = believes(Trust::File(&listed), "127.0.0.2", shown(own())).unwrap_err();
        let Error::InvalidCertificate(reason) = elsewhere else { panic!("{elsewhere}") };
        assert!(matches!(reason, CertificateError::NotValidForNameContext { .. }), "{reason:?}");
        let stolen = believes(Trust::File(&listed), "127.0.0.1", shown(own_key())).unwrap_err();
        assert_eq!(stolen, Error::InvalidCertificate(CertificateError::BadSignature));
        let authority = certificates("authority.pem");
        let other = believes(Trust::File(&authority), "127.0.0.1", shown(own())).unwrap_err();
        assert!(matches!(other, Error::InvalidCertificate(_)), "{other}");
    }
    let leaf = certificates("server.pem");
    assert_eq!(believes(Trust::File(&leaf), "127.0.0.1", server(own_key(), &TLS13)), Ok(()));
}

#[test]
fn a_certificate_that_stands_in_the_file_is_not_believed_after_its_last_day() {
    let file = certificates("selfsigned.pem");
    let shown = CertificateDer::from_pem_file(&file).unwrap();
    let provider = Arc::new(ring::default_provider());
    let believed = listed(&file, &provider).unwrap();
    let verifier = Verifier { provider, believed };
    let name = ServerName::try_from("localhost").unwrap();
    let at = |years: u64| {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(years * 31_557_600));
        verifier.verify_server_cert(&shown, &[], &name, &[], time).map(|_| ())
    };
    assert_eq!(at(100), Ok(()));
    for (years, word) in [(1, "not valid yet"), (200, "expired")] {
        let refused = at(years).unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
    }
}

#[test]
fn the_web_does_not_vouch_for_an_authority_of_our_own() {
    let refused = believes(Trust::Web, "127.0.0.1", server(own_key(), &TLS13)).unwrap_err();
    assert_eq!(refused, Error::InvalidCertificate(CertificateError::UnknownIssuer));
}

#[test]
fn anyone_is_believed_who_holds_the_key() {
    for version in [&TLS12, &TLS13] {
        let name = "other.example";
        assert_eq!(believes(Trust::Anyone, name, server(own_key(), version)), Ok(()));
        let key = PrivateKeyDer::from_pem_slice(OTHER_KEY).unwrap();
        let refused = believes(Trust::Anyone, name, server(key, version)).unwrap_err();
        assert_eq!(refused, Error::InvalidCertificate(CertificateError::BadSignature));
    }
}

#[test]
fn a_file_without_certificates_is_refused_by_name() {
    let none = certificates("server.key");
    let error = Trust::File(&none).client().unwrap_err();
    assert!(matches!(&error, TrustError::Empty { file } if *file == none), "{error}");
    let missing = certificates("nobody.pem");
    let error = Trust::File(&missing).client().unwrap_err();
    assert!(error.to_string().contains("nobody.pem"), "{error}");
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>()).unwrap();
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
}
