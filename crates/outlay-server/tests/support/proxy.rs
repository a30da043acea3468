//! A proxy between a store and the server that can lose the answer to the next `COMMIT`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) struct Proxy {
    pub(crate) port: u16,
    /// If set, the next commit reaches the server, but its answer is lost.
    pub(crate) loses_answer: Arc<AtomicBool>,
}

impl Proxy {
    /// Starts a proxy to a server on a loopback port. Its threads end with the connections.
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let loses_answer = Arc::new(AtomicBool::new(false));
        let armed = Arc::clone(&loses_answer);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let is_mute = Arc::new(AtomicBool::new(false));
                let (back, is_muted) = (
                    (server.try_clone().unwrap(), client.try_clone().unwrap()),
                    Arc::clone(&is_mute),
                );
                std::thread::spawn(move || {
                    copy(back.0, back.1, |_| !is_muted.load(Ordering::SeqCst))
                });
                let armed = Arc::clone(&armed);
                std::thread::spawn(move || {
                    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                    copy(from, to, |bytes| {
                        if bytes.windows(7).any(|word| word == b"COMMIT\0")
                            && armed.swap(false, Ordering::SeqCst)
                        {
                            is_mute.store(true, Ordering::SeqCst);
                            let (client, server) =
                                (client.try_clone().unwrap(), server.try_clone().unwrap());
                            std::thread::spawn(move || {
                                std::thread::sleep(Duration::from_millis(500));
                                let _ = (
                                    client.shutdown(Shutdown::Both),
                                    server.shutdown(Shutdown::Both),
                                );
                            });
                        }
                        true
                    });
                });
            }
        });
        Self { port, loses_answer }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, passes: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if passes(&buffer[..length]) && to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
