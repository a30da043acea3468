//! Encrypted connections, if the URL asks for them. The certificate is always checked then, because
//! encryption without authentication does not protect.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The URL without parameters that the driver does not know, and the certificate file in it.
pub(super) fn split(url: &str) -> (String, Option<PathBuf>) {
    let Some((address, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let mut certificates = None;
    let mut rest = Vec::new();
    for part in query.split('&') {
        match part.split_once('=') {
            Some(("sslrootcert", path)) => certificates = Some(PathBuf::from(path)),
            // These modes are equivalent here.
            Some(("sslmode", "verify-ca" | "verify-full")) => rest.push("sslmode=require"),
            _ => rest.push(part),
        }
    }
    let rest = rest.join("&");
    (if rest.is_empty() { address.to_owned() } else { format!("{address}?{rest}") }, certificates)
}

/// Trusts the certificates of a file, or otherwise those of the system.
pub(super) fn connector(certificates: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    match certificates {
        Some(path) => {
            let cannot = |error: &dyn std::fmt::Display| {
                format!("cannot read the certificates in {}: {error}", path.display())
            };
            for certificate in
                CertificateDer::pem_file_iter(path).map_err(|error| cannot(&error))?
            {
                roots
                    .add(certificate.map_err(|error| cannot(&error))?)
                    .map_err(|error| cannot(&error))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(
            "there is no certificate to check the database's with; name a file: sslrootcert=…"
                .to_owned(),
        );
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("no encryption: {error}"))?;
    Ok(MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn the_url_for_the_driver_has_only_known_parameters() {
        let plain = "postgres://a:b@c/d";
        assert_eq!(split(plain), (plain.to_owned(), None));
        let (url, certificates) =
            split("postgres://a:b@c/d?sslmode=verify-full&sslrootcert=/x/y.pem&connect_timeout=3");
        assert_eq!(
            (url.as_str(), certificates),
            ("postgres://a:b@c/d?sslmode=require&connect_timeout=3", Some("/x/y.pem".into()))
        );
        assert_eq!(split("postgres://c?sslrootcert=z").0, "postgres://c");
    }
}
