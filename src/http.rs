//! Servers over HTTP: the stand-in for the Messages API, on a port.
//!
//! A test starts one in its own process, and points a client at it:
//!
//! ```
//! use std::io::{Read as _, Write as _};
//! use std::net::{TcpListener, TcpStream};
//!
//! use memdir::double::{Double, Script};
//! use memdir::http::serve_double;
//!
//! let script = Script::from_lines(r#"{"reply":{"text":"Four."}}"#)?;
//! let api = serve_double(TcpListener::bind("127.0.0.1:0")?, Double::new(script))?;
//! // `api.base_url()` is for the `base_url` of an SDK, or for `ANTHROPIC_BASE_URL`.
//!
//! let body = r#"{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":"2 + 2?"}]}"#;
//! let mut connection = TcpStream::connect(api.address())?;
//! write!(
//!     connection,
//!     "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: any\r\n\
//!      anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
//!     body.len(),
//! )?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("Four."), "{answer}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod connection;
mod double;

pub use double::{Running, Seen, serve_double, serve_double_watched};
