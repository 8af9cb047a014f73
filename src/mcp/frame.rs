//! What a line of the client is: a message, a fault that is answered, or nothing.

use std::cell::Cell;
use std::fmt;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use serde::Deserialize as _;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// What some programs begin a text with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Methods whose parameters have a shape of their own. (What is none of these is answered as unknown.)
const SHAPED: &[&str] = &[
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];
/// The same of methods that are no more where a request says the revision it is of.
const OLD: &[&str] = &["initialize", "resources/subscribe", "resources/unsubscribe"];
/// By this a request does so, in the `_meta` of its parameters.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// A line, understood.
#[derive(Debug)]
pub(super) enum Frame {
    /// Blank; or it tells something that changes nothing here.
    Nothing,
    /// To be answered, or to be done.
    Message(Box<ClientJsonRpcMessage>),
    /// Not what the protocol has: this is the answer.
    Fault(Box<ServerJsonRpcMessage>),
}

/// Reads a line, whatever it holds.
///
/// A fault is told with the id of its request where that can be read, as somebody waits for an answer to it.
pub(super) fn read(line: &[u8]) -> Frame {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Frame::Nothing;
    }
    let Ok(value) = serde_json::from_slice(line) else {
        let words = "the line is not JSON in UTF-8, or holds what JSON cannot (half a surrogate pair, too large a number)";
        return fault(ErrorData::parse_error(words, None), id_in(line));
    };
    let Value::Object(message) = value else {
        let words = "a message must be a JSON object; several are sent as one a line";
        return fault(ErrorData::invalid_request(words, None), None);
    };
    read_message(message)
}

/// The answer to a line that is longer than `limit`, of which `start` is the beginning.
pub(super) fn too_long(start: &[u8], limit: usize) -> Box<ServerJsonRpcMessage> {
    let words = format!("the message is longer than {limit} bytes");
    Box::new(JsonRpcMessage::error(ErrorData::invalid_request(words, None), id_in(start)))
}

fn read_message(message: Map<String, Value>) -> Frame {
    let Some(method) = message.get("method") else {
        // Nothing is ever asked of a client, so an answer of one answers nothing.
        let is_answer = message.contains_key("result") || message.contains_key("error");
        let words = "a message must have a `method`";
        return if is_answer {
            Frame::Nothing
        } else {
            fault(ErrorData::invalid_request(words, None), id_of(&message))
        };
    };
    let Some(method) = method.as_str().map(str::to_owned) else {
        return fault(ErrorData::invalid_request("`method` must be a text", None), id_of(&message));
    };
    if !message.contains_key("id") {
        return read_notification(&method, message);
    }
    let Some(id) = id_of(&message) else {
        return fault(ErrorData::invalid_request("`id` must be a text or a whole number", None), None);
    };
    if message.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return fault(ErrorData::invalid_request("`jsonrpc` must be \"2.0\"", None), Some(id));
    }
    let misshapen = |id| {
        let words = format!("the parameters do not have the shape of those of {method}");
        fault(ErrorData::invalid_params(words, None), Some(id))
    };
    // Calls are what comes most: they are not tried as every other request before.
    if method == "tools/call" {
        return match CallToolRequest::deserialize(Value::Object(message)) {
            Ok(call) => {
                Frame::Message(Box::new(JsonRpcMessage::request(ClientRequest::CallToolRequest(call), id)))
            }
            Err(_) => misshapen(id),
        };
    }
    let says_revision = message.get("params").and_then(|params| params.get("_meta")?.get(REVISION)).is_some();
    let has_shape = SHAPED.contains(&method.as_str()) || !says_revision && OLD.contains(&method.as_str());
    match ClientJsonRpcMessage::deserialize(Value::Object(message)) {
        Ok(JsonRpcMessage::Request(request))
            if has_shape && matches!(request.request, ClientRequest::CustomRequest(_)) =>
        {
            misshapen(id)
        }
        Ok(message) => Frame::Message(Box::new(message)),
        Err(_) => misshapen(id),
    }
}

/// That a request is cancelled is all that a client can tell which changes something here; and whatever else came before
/// the first request would be taken for the end of the connection.
fn read_notification(method: &str, message: Map<String, Value>) -> Frame {
    if method != "notifications/cancelled" {
        return Frame::Nothing;
    }
    match ClientJsonRpcMessage::deserialize(Value::Object(message)) {
        Ok(JsonRpcMessage::Notification(told))
            if matches!(told.notification, ClientNotification::CancelledNotification(_)) =>
        {
            Frame::Message(Box::new(JsonRpcMessage::Notification(told)))
        }
        _ => Frame::Nothing,
    }
}

fn fault(error: ErrorData, id: Option<RequestId>) -> Frame {
    Frame::Fault(Box::new(JsonRpcMessage::error(error, id)))
}

fn id_of(message: &Map<String, Value>) -> Option<RequestId> {
    message.get("id").and_then(|id| RequestId::deserialize(id).ok())
}

/// The id in a line that is no JSON, or not whole: what stands before the flaw, and where a reader that takes no notice of
/// what texts hold finds none, after it.
fn id_in(line: &[u8]) -> Option<RequestId> {
    let found = Cell::new(None);
    let mut reader = serde_json::Deserializer::from_slice(line);
    let _ = reader.deserialize_map(IdOf(&found));
    found.take()
}

struct IdOf<'a>(&'a Cell<Option<RequestId>>);

impl<'de> Visitor<'de> for IdOf<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(key) = fields.next_key::<String>()? {
            if key == "id" {
                self.0.set(Some(fields.next_value()?));
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `-` for nothing, `method` of a message, else the code and the id of the answer.
    fn shown(line: &[u8]) -> String {
        match read(line) {
            Frame::Nothing => "-".to_owned(),
            Frame::Message(message) => {
                serde_json::to_value(message).unwrap()["method"].as_str().unwrap().to_owned()
            }
            Frame::Fault(answer) => {
                let answer = serde_json::to_value(answer).unwrap();
                format!("{} {}", answer["error"]["code"], answer.get("id").unwrap_or(&Value::Null))
            }
        }
    }

    #[test]
    fn what_a_line_is() {
        for (line, is) in [
            ("", "-"),
            (" \t\r", "-"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "ping"),
            ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", "ping"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"x/y","params":{"z":[1]}}"#, "x/y"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"x/y","params":[1]}"#, "-32602 \"a\""),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory"}}"#, "tools/call"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}"#,
                "tools/call",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory","arguments":[]}}"#,
                "-32602 1",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, "-32602 1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, "-32602 1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"url":"x"}}"#, "-32602 1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{}}"#, "-32602 1"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
                "resources/subscribe",
            ),
            (r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, "ping"),
            (r#"{"jsonrpc":"2.0","id":-7,"method":"ping"}"#, "ping"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "-32600 1"),
            (r#"{"id":1,"method":"ping"}"#, "-32600 1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "-32600 1"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "-32600 1"),
            ("{}", "-32600 null"),
            ("[]", "-32600 null"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "-32600 null"),
            ("7", "-32600 null"),
            ("null", "-32600 null"),
            ("nope", "-32700 null"),
            ("{", "-32700 null"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"pi"#, "-32700 1"),
            (r#"{"jsonrpc":"2.0","id":1,"params":{"a":"\ud800"}}"#, "-32700 1"),
            (r#"{"params":{"a":"\ud800"},"jsonrpc":"2.0","id":"b"}"#, "-32700 \"b\""),
            (r#"{"params":{"a":1e999},"id":2}"#, "-32700 2"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "-"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#, "-"),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "-"),
            (r#"{"jsonrpc":"2.0","method":"notifications/other","params":7}"#, "-"),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
                "notifications/cancelled",
            ),
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#, "-"),
            (r#"{"jsonrpc":"2.0","method":"tools/call","params":{}}"#, "-"),
        ] {
            assert_eq!(shown(line.as_bytes()), is, "{line}");
        }
        assert_eq!(shown(b"\xff"), "-32700 null");
        assert_eq!(shown(b"{\"id\":3,\"method\":\"\xff\"}"), "-32700 3");
        assert_eq!(shown("[".repeat(100_000).as_bytes()), "-32700 null");
        let deep = format!("{{\"id\":4,\"params\":{}", "[".repeat(100_000));
        assert_eq!(shown(deep.as_bytes()), "-32700 4");
    }

    #[test]
    fn what_is_too_long_is_answered_by_its_id() {
        let start = br#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"mem"#;
        let answer = serde_json::to_value(too_long(start, 60)).unwrap();
        let error = json!({"code": -32600, "message": "the message is longer than 60 bytes"});
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "x", "error": error}));
        assert_eq!(serde_json::to_value(too_long(b"[[", 60)).unwrap().get("id"), None);
    }
}
