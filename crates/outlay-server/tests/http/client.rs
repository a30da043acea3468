//! A client that sends exactly the given bytes and nothing else.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of an error, after checking that the answer is a complete problem document.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        let code = problem["code"].as_str().unwrap();
        assert_eq!(problem["type"], format!("/problems/{code}"));
        assert_eq!(problem["request_id"].as_str(), self.header("x-request-id"));
        assert!(
            !problem["title"].as_str().unwrap().is_empty()
                && !problem["detail"].as_str().unwrap().is_empty()
        );
        code.to_owned()
    }
}

/// A client with one token.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    token: Option<String>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, token: None }
    }

    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn json(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send(method, path, &[("content-type", "application/json")], Some(body.as_bytes()))
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if let Some(token) = &self.token {
            head += &format!("authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = body {
            head += &format!("content-length: {}\r\n", body.len());
        }
        let mut whole = format!("{head}\r\n").into_bytes();
        whole.extend_from_slice(body.unwrap_or_default());
        self.raw(&whole)
    }

    /// Sends these bytes and reads one answer to the end of the connection.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = connect(self.address);
        // A server may refuse a request before all of it has been sent.
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Reads one answer.
pub(crate) fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut part = [0; 65_536];
    loop {
        if let Some(answer) = whole(&bytes) {
            return answer;
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => panic!("the answer broke off: {:?}", String::from_utf8_lossy(&bytes)),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
        }
    }
}

/// The answer, if all of it has arrived.
fn whole(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let answer = Answer { status, head, body: String::new() };
    let length: usize = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
    let body = bytes[end + 4..].get(..length)?;
    Some(Answer { body: String::from_utf8(body.to_vec()).unwrap(), ..answer })
}
