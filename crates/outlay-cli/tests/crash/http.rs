//! A minimal HTTP client that knows exactly when an answer has been read completely.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A connection that stays open.
pub struct Connection {
    stream: TcpStream,
}

/// An answer that has been read completely.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Connection {
    pub fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(Self { stream })
    }

    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let key = key.map(|key| format!("idempotency-key: {key}\r\n")).unwrap_or_default();
        // An amendment needs a version: any.
        let version = if path.ends_with("/problem") { "if-match: *\r\n" } else { "" };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{key}{version}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.stream.write_all(format!("{head}{body}").as_bytes())?;
        self.read()
    }

    fn read(&mut self) -> Result<Answer> {
        let mut bytes = Vec::new();
        let mut part = [0; 8192];
        loop {
            let got = self.stream.read(&mut part)?;
            if got == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "the connection was closed"));
            }
            bytes.extend_from_slice(&part[..got]);
            if let Some(answer) = whole(&bytes)? {
                return Ok(answer);
            }
        }
    }
}

/// The answer, once all of it has arrived.
fn whole(bytes: &[u8]) -> Result<Option<Answer>> {
    let bad = |what: &str| Error::new(ErrorKind::InvalidData, what.to_owned());
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4) else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..end])
        .map_err(|_| bad("the head is not text"))?
        .to_ascii_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| bad("no status"))?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    let length = length.ok_or_else(|| bad("no length"))?;
    if bytes.len() < end + length {
        return Ok(None);
    }
    let body = serde_json::from_slice(&bytes[end..end + length]).unwrap_or(Value::Null);
    Ok(Some(Answer { status, body }))
}
