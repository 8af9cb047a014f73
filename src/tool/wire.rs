//! The shapes of the Messages API that a tool call and its result have.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A `tool_use` block: what a model wants done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "tool_use")]
pub struct ToolUse {
    /// The id that the result must name.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input; anything but an object is answered with an error.
    pub input: Value,
}

/// A `tool_result` block: what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "tool_result")]
pub struct ToolResult {
    /// The id of the call; empty where it had none that could be read.
    pub tool_use_id: String,
    /// What the model gets to see.
    pub content: Content,
    /// Whether the call failed; absent in JSON when it did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// The content of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text: every answer but the view of an image.
    Text(String),
    /// Blocks: a line of text and the image.
    Blocks(Vec<Block>),
}

/// One block of a result's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// An image.
    Image {
        /// Its bytes.
        source: ImageSource,
    },
}

/// Where an image comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    /// It is in the block.
    Base64 {
        /// `image/png` or `image/jpeg`.
        media_type: String,
        /// The bytes, in base64.
        data: String,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(content: Content, is_error: bool) -> String {
        serde_json::to_string(&ToolResult { tool_use_id: "toolu_1".to_owned(), content, is_error }).unwrap()
    }

    #[test]
    fn a_result_is_written_as_the_api_has_it() {
        assert_eq!(
            written(Content::Text("x".to_owned()), false),
            r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}"#
        );
        assert_eq!(
            written(Content::Text("x".to_owned()), true),
            r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"x","is_error":true}"#
        );
        let source = ImageSource::Base64 { media_type: "image/png".to_owned(), data: "AA==".to_owned() };
        assert_eq!(
            written(
                Content::Blocks(vec![Block::Text { text: "x".to_owned() }, Block::Image { source }]),
                false
            ),
            concat!(
                r#"{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"x"},"#,
                r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}"#
            )
        );
    }

    #[test]
    fn a_call_survives_the_way_out_and_in() {
        let text = r#"{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view"}}"#;
        let call: ToolUse = serde_json::from_str(text).unwrap();
        assert_eq!(call.input, json!({"command": "view"}));
        assert_eq!(serde_json::to_string(&call).unwrap(), text);
    }
}
