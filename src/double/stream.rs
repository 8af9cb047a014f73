//! A message as the events of a stream.

use serde_json::{Value, json};

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Its name, which is the `type` in its data as well.
    pub name: &'static str,
    /// Its data.
    pub data: Value,
}

impl Event {
    pub(super) fn new(name: &'static str, data: Value) -> Self {
        Self { name, data }
    }

    /// The event as the lines of `text/event-stream`, with the empty line after it.
    #[must_use]
    pub fn lines(&self) -> String {
        format!("event: {}\ndata: {}\n\n", self.name, self.data)
    }
}

/// The events that a message is told in.
pub(super) fn events(message: &Value) -> Vec<Event> {
    vec![
        Event::new("message_start", json!({"type": "message_start", "message": message})),
        Event::new("message_stop", json!({"type": "message_stop"})),
    ]
}
