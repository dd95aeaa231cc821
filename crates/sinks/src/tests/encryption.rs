//! What `sslmode` means to real servers.

use super::*;

use pipeline::SinkError;

fn prepare(url: &str) -> Result<(), SinkError> {
    open(url, Path::new("/")).unwrap().prepare(&[counts()])
}

/// A database of each server, and the file of its authority.
fn each() -> [(Bench, String); 2] {
    let [postgres, mysql] = [Bench::postgres(), Bench::mysql()];
    let authorities = [Postgres::shared().authority(), MariaDb::shared().authority()];
    let [one, other] = authorities.map(|file| file.display().to_string());
    [(postgres, one), (mysql, other)]
}

#[test]
fn proves_the_server_by_the_authority_that_is_named() {
    for (bench, authority) in each() {
        let url = format!("{}?sslmode=verify-full&sslrootcert={authority}", bench.url);
        prepare(&url).unwrap();
    }
}

#[test]
fn does_not_speak_to_a_server_that_nobody_vouches_for() {
    for (bench, _) in each() {
        let error = prepare(&format!("{}?sslmode=verify-full", bench.url)).unwrap_err();
        assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    }
}

#[test]
fn encrypts_without_a_proof_when_told_so() {
    for (bench, _) in each() {
        for mode in ["prefer", "require", "disable"] {
            prepare(&format!("{}?sslmode={mode}", bench.url)).unwrap();
        }
    }
}

#[test]
fn sends_nothing_readable_when_encryption_is_required() {
    use testkit::{Fault, Proxy};
    let ports = [Postgres::shared().port(), MariaDb::shared().port()];
    for ((bench, _), port) in each().into_iter().zip(ports) {
        let proxy = Proxy::start(port);
        let url = bench.url.replace(&format!(":{port}/"), &format!(":{}/", proxy.port()));
        // It would cut the connection if it could read that.
        proxy.fault_at(b"tidegate_checkpoints", Fault::LoseRequest);
        prepare(&format!("{url}?sslmode=require")).unwrap();
        assert!(prepare(&format!("{url}?sslmode=disable")).is_err());
    }
}

#[test]
fn names_a_file_of_certificates_that_is_missing() {
    for (bench, _) in each() {
        // Who names authorities wants them to be asked, also where encryption is only required.
        for mode in ["verify-full", "require"] {
            let url = format!("{}?sslmode={mode}&sslrootcert=/no/such.pem", bench.url);
            let error = prepare(&url).unwrap_err();
            assert!(error.to_string().contains("`/no/such.pem`"), "{mode}: {error}");
        }
    }
}
