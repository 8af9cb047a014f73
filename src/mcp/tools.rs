//! The tools as the protocol has them: definitions, calls, results.

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, Implementation, Tool};
use serde_json::Value;

use crate::store::Settings;
use crate::tool::{Block, Content, Definitions, Dialect, ImageSource, ToolResult, ToolUse};

/// The tools of one store.
pub(super) struct Tools {
    all: Vec<Tool>,
}

impl Tools {
    pub(super) fn new(settings: &Settings) -> Self {
        let defined = Definitions::new(Dialect::Mcp).for_store(settings).to_json();
        Self { all: serde_json::from_value(defined).expect("the definitions have the shape of the protocol") }
    }

    /// The tools as they are told to a client.
    pub(super) fn for_client(&self, _client: Option<&Implementation>) -> Vec<Tool> {
        self.all.clone()
    }

    /// Reads a call. A tool that is not listed is a fault of the request.
    pub(super) fn call(&self, request: CallToolRequestParams) -> Result<ToolUse, ErrorData> {
        if self.all.iter().all(|tool| tool.name != request.name) {
            let names: Vec<&str> = self.all.iter().map(|tool| tool.name.as_ref()).collect();
            let words = format!("Unknown tool: {}. The tools are {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(words, None));
        }
        let input = Value::Object(request.arguments.unwrap_or_default());
        Ok(ToolUse { id: String::new(), name: request.name.into_owned(), input })
    }

    /// The answer of a call as the client is told it: the exact text first.
    pub(super) fn result(&self, answer: ToolResult, _client: Option<&Implementation>) -> CallToolResult {
        let content = match answer.content {
            Content::Text(text) => vec![ContentBlock::text(text)],
            Content::Blocks(blocks) => blocks.into_iter().map(block).collect(),
        };
        if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
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
