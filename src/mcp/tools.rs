//! The tools as the protocol has them: definitions, calls, results.

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, Implementation, Tool};
use serde_json::{Value, json};

use crate::store::Settings;
use crate::text::echo;
use crate::tool::{Block, Content, Definitions, Dialect, ImageSource, ToolResult, ToolUse};

/// Clients that show their model nothing but the structured content where a result has some: as JSON, in which the exact
/// words of the memory tool would be lost. They get that tool without. (The text of the others is that JSON already.)
const STRUCTURE_ALONE: &[&str] = &["claude-code", "codex-mcp-client"];
/// The tool whose answers are plain text.
const MEMORY: &str = "memory";

/// The tools of one store.
pub(super) struct Tools {
    all: Vec<Tool>,
}

/// What a result has beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Structure {
    /// Nothing.
    None,
    /// The text, as the one field of an object.
    Words,
    /// What the text is the JSON of.
    Answer,
}

impl Tools {
    pub(super) fn new(settings: &Settings) -> Self {
        let defined = Definitions::new(Dialect::Mcp).for_store(settings).to_json();
        Self { all: serde_json::from_value(defined).expect("the definitions have the shape of the protocol") }
    }

    /// The tools as they are told to a client.
    pub(super) fn for_client(&self, client: Option<&Implementation>) -> Vec<Tool> {
        let mut tools = self.all.clone();
        for tool in &mut tools {
            if structure(&tool.name, client) == Structure::None {
                tool.output_schema = None;
            }
        }
        tools
    }

    /// Reads a call, and how it is to be answered. A tool that is not listed is a fault of the request.
    pub(super) fn call(
        &self,
        request: CallToolRequestParams,
        client: Option<&Implementation>,
    ) -> Result<(ToolUse, Structure), ErrorData> {
        if self.all.iter().all(|tool| tool.name != request.name) {
            let names: Vec<&str> = self.all.iter().map(|tool| tool.name.as_ref()).collect();
            let words = format!("Unknown tool: {}. The tools are {}", echo(&request.name), names.join(", "));
            return Err(ErrorData::invalid_params(words, None));
        }
        let structure = structure(&request.name, client);
        let input = Value::Object(request.arguments.unwrap_or_default());
        Ok((ToolUse { id: String::new(), name: request.name.into_owned(), input }, structure))
    }
}

/// The answer of a call as the client is told it: the exact text first.
pub(super) fn result(answer: ToolResult, structure: Structure) -> CallToolResult {
    let blocks = match answer.content {
        Content::Text(text) => vec![Block::Text { text }],
        Content::Blocks(blocks) => blocks,
    };
    let structured = match (structure, &blocks[..]) {
        _ if answer.is_error => None,
        (Structure::Words, [Block::Text { text }, ..]) => Some(json!({"result": text})),
        (Structure::Answer, [Block::Text { text }, ..]) => serde_json::from_str(text).ok(),
        _ => None,
    };
    let content = blocks.into_iter().map(block).collect();
    let mut result =
        if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = structured;
    result
}

fn structure(tool: &str, client: Option<&Implementation>) -> Structure {
    match client {
        _ if tool != MEMORY => Structure::Answer,
        Some(client) if STRUCTURE_ALONE.contains(&client.name.as_str()) => Structure::None,
        _ => Structure::Words,
    }
}

fn block(block: Block) -> ContentBlock {
    match block {
        Block::Text { text } => ContentBlock::text(text),
        Block::Image { source: ImageSource::Base64 { media_type, data } } => {
            ContentBlock::image(data, media_type)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(content: Content, is_error: bool, structure: Structure) -> Value {
        let answer = ToolResult { tool_use_id: String::new(), content, is_error };
        let mut told = serde_json::to_value(result(answer, structure)).unwrap();
        told.as_object_mut().unwrap().remove("resultType");
        told
    }

    #[test]
    fn a_result_has_the_exact_text_first() {
        let text = |text: &str| Content::Text(text.to_owned());
        let blocks = |text: &str| json!([{"type": "text", "text": text}]);
        assert_eq!(
            told(text("a \"b\"\n"), false, Structure::Words),
            json!({"content": blocks("a \"b\"\n"), "structuredContent": {"result": "a \"b\"\n"}, "isError": false})
        );
        assert_eq!(
            told(text("a"), false, Structure::None),
            json!({"content": blocks("a"), "isError": false})
        );
        assert_eq!(
            told(text(r#"{"success":true}"#), false, Structure::Answer),
            json!({"content": blocks(r#"{"success":true}"#), "structuredContent": {"success": true}, "isError": false})
        );
        for structure in [Structure::None, Structure::Words, Structure::Answer] {
            let words = r#"{"error":"no"}"#;
            assert_eq!(
                told(text(words), true, structure),
                json!({"content": blocks(words), "isError": true})
            );
        }
    }

    #[test]
    fn an_image_stands_after_its_text() {
        let source = ImageSource::Base64 { media_type: "image/png".to_owned(), data: "AA==".to_owned() };
        let content = Content::Blocks(vec![Block::Text { text: "t".to_owned() }, Block::Image { source }]);
        assert_eq!(
            told(content, false, Structure::Words),
            json!({
                "content": [
                    {"type": "text", "text": "t"},
                    {"type": "image", "data": "AA==", "mimeType": "image/png"},
                ],
                "structuredContent": {"result": "t"},
                "isError": false,
            })
        );
    }

    #[test]
    fn who_shows_structure_alone_gets_the_memory_tool_without() {
        let tools = Tools::new(&Settings::default());
        let client = |name: &str| Implementation::new(name, "1");
        let with_schema = |client: Option<&Implementation>| -> Vec<bool> {
            tools.for_client(client).iter().map(|tool| tool.output_schema.is_some()).collect()
        };
        assert_eq!(with_schema(None), [true; 4]);
        assert_eq!(with_schema(Some(&client("claude-ai"))), [true; 4]);
        for name in ["claude-code", "codex-mcp-client"] {
            assert_eq!(with_schema(Some(&client(name))), [false, true, true, true], "{name}");
        }
        for (tool, name, told) in [
            ("memory", "claude-code", Structure::None),
            ("memory", "codex-mcp-client", Structure::None),
            ("memory", "claude-ai", Structure::Words),
            ("memory_retrieve", "claude-code", Structure::Answer),
        ] {
            let (_, structure) = tools.call(CallToolRequestParams::new(tool), Some(&client(name))).unwrap();
            assert_eq!(structure, told, "{tool} {name}");
        }
    }
}
