//! Optional TLS. The certificate is replaced while the service runs when its files change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use super::server::StartError;

/// Certificate and key, and how often they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain of certificates, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
    /// The files are read again this often; new connections use what they contain.
    pub reload_every: Duration,
}

/// The files as bytes: certificate and key.
type Contents = (Vec<u8>, Vec<u8>);

/// The certificate in use and the files that it comes from.
#[derive(Debug)]
pub(crate) struct CertificateFiles {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    current: RwLock<Current>,
}

struct Current {
    certificate: Arc<CertifiedKey>,
    /// The contents that were examined last, valid or not.
    seen: Contents,
}

/// Keys are not shown.
impl std::fmt::Debug for Current {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Current").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for CertificateFiles {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&current.certificate))
    }
}

/// Result of reading the files again.
#[derive(Debug, PartialEq, Eq)]
enum Reload {
    Unchanged,
    Replaced,
    /// The files cannot be used; the certificate stays.
    Failed(StartError),
}

impl CertificateFiles {
    fn open(files: &TlsFiles) -> Result<Self, StartError> {
        let provider = Arc::new(ring::default_provider());
        let seen = read(files)?;
        let certificate = Arc::new(parse(files, &seen, &provider)?);
        let current = RwLock::new(Current { certificate, seen });
        Ok(Self { files: files.clone(), provider, current })
    }

    /// Reads the files and uses them if they have changed and are valid. Blocks.
    fn reload(&self) -> Reload {
        let contents = match read(&self.files) {
            Ok(contents) => contents,
            Err(error) => return Reload::Failed(error),
        };
        let is_seen = self.current.read().unwrap_or_else(PoisonError::into_inner).seen == contents;
        if is_seen {
            return Reload::Unchanged;
        }
        let parsed = parse(&self.files, &contents, &self.provider);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.seen = contents;
        match parsed {
            Ok(certificate) => {
                current.certificate = Arc::new(certificate);
                Reload::Replaced
            }
            Err(error) => Reload::Failed(error),
        }
    }

    /// Watches the files. Each failure is logged once, however long it lasts.
    pub(crate) async fn keep_fresh(self: Arc<Self>) {
        let mut last = None;
        loop {
            tokio::time::sleep(self.files.reload_every).await;
            let files = Arc::clone(&self);
            let Ok(reload) = tokio::task::spawn_blocking(move || files.reload()).await else {
                continue;
            };
            let path = self.files.certificate.display();
            match &reload {
                Reload::Replaced => tracing::info!(%path, "the TLS certificate was replaced"),
                Reload::Failed(error) if last.as_ref() != Some(error) => {
                    tracing::error!(%error, "the new TLS certificate is not used; the old one stays");
                }
                Reload::Failed(_) | Reload::Unchanged => {}
            }
            last = match reload {
                Reload::Failed(error) => Some(error),
                Reload::Replaced => None,
                // Files that could not be used and have not changed since.
                Reload::Unchanged => last,
            };
        }
    }
}

fn cannot_read(what: &str, path: &Path, error: &dyn std::fmt::Display) -> StartError {
    StartError(format!("cannot read the {what} {}: {error}", path.display()))
}

fn read(files: &TlsFiles) -> Result<Contents, StartError> {
    let read = |what: &str, path: &Path| {
        std::fs::read(path).map_err(|error| cannot_read(what, path, &error))
    };
    Ok((read("certificate", &files.certificate)?, read("key", &files.key)?))
}

fn parse(
    files: &TlsFiles,
    (certificate, key): &Contents,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, StartError> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| cannot_read("certificate", &files.certificate, &error))?;
    if chain.is_empty() {
        let path = files.certificate.display();
        return Err(StartError(format!("there is no certificate in {path}")));
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| cannot_read("key", &files.key, &error))?;
    CertifiedKey::from_der(chain, key, provider).map_err(unusable)
}

fn unusable(error: rustls::Error) -> StartError {
    StartError(format!("certificate and key cannot be used: {error}"))
}

/// Reads both files.
pub(crate) fn acceptor(
    files: &TlsFiles,
) -> Result<(TlsAcceptor, Arc<CertificateFiles>), StartError> {
    let certificate = Arc::new(CertificateFiles::open(files)?);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&certificate.provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let resolver = Arc::clone(&certificate) as Arc<dyn ResolvesServerCert>;
    let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), certificate))
}
