//! Certificates are replaced while the service runs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outlay_server::http::{Settings, TlsFiles};
use outlay_server::limits::Limits;
use outlay_server::store::MemoryStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::{Running, local_settings};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/data");

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(format!("{DATA}/{name}.pem")).unwrap()
}

fn connect(service: &Running) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    for name in ["first", "second"] {
        roots.add(certificate(name)).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, super::client::connect(service.address()));
    ask(&mut stream);
    stream
}

fn ask(stream: &mut StreamOwned<ClientConnection, TcpStream>) {
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"alive\n") {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&part[..count]);
    }
}

fn presented(service: &Running) -> CertificateDer<'static> {
    connect(service).conn.peer_certificates().unwrap()[0].clone().into_owned()
}

#[test]
fn a_new_certificate_is_used_and_a_bad_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let copy = |from: &str, to: &str| {
        // Renamed into place, as tools that renew certificates do.
        std::fs::copy(Path::new(DATA).join(from), place("new")).unwrap();
        std::fs::rename(place("new"), place(to)).unwrap();
    };
    copy("first.pem", "cert.pem");
    copy("first-key.pem", "key.pem");
    let tls = Some(TlsFiles {
        certificate: place("cert.pem"),
        key: place("key.pem"),
        reload_every: Duration::from_millis(50),
    });
    let settings = Settings { tls, ..local_settings() };
    let store = Arc::new(MemoryStore::new());
    let service = Running::with_settings(store, Limits::default(), settings);
    let mut old = connect(&service);
    let settle = || std::thread::sleep(Duration::from_millis(500));
    assert_eq!(presented(&service), certificate("first"));
    // First only one of the two files is replaced, then it is invalid, then it is missing.
    copy("second.pem", "cert.pem");
    settle();
    assert_eq!(presented(&service), certificate("first"), "the key belongs to another certificate");
    std::fs::write(place("cert.pem"), "garbage").unwrap();
    settle();
    assert_eq!(presented(&service), certificate("first"));
    std::fs::remove_file(place("cert.pem")).unwrap();
    settle();
    assert_eq!(presented(&service), certificate("first"));
    copy("second.pem", "cert.pem");
    copy("second-key.pem", "key.pem");
    let end = Instant::now() + Duration::from_secs(20);
    while presented(&service) != certificate("second") {
        assert!(Instant::now() < end, "the new certificate is not used");
        std::thread::sleep(Duration::from_millis(50));
    }
    ask(&mut old);
    assert_eq!(old.conn.peer_certificates().unwrap()[0], certificate("first"));
}
