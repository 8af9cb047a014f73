//! What fields may not say together, or to that model. Each field has its shape already.

use serde_json::{Map, Value};

use super::Purpose;
use super::head::Head;
use crate::context::ApiError;
use crate::double::fault::Fault;
use crate::double::models::{Forced, Model, Sampling};

type Checked = Result<(), ApiError>;

/// A request as the rules look at it.
pub(super) struct Asked<'a> {
    pub(super) fields: &'a Map<String, Value>,
    pub(super) purpose: Purpose,
    pub(super) head: &'a Head,
    /// `None`: nothing is known of it.
    pub(super) model: Option<&'static Model>,
}

impl Asked<'_> {
    /// Whether the request breaks no rule; of several that it breaks, the first is told.
    pub(super) fn check(&self) -> Checked {
        self.length()?;
        self.stops()?;
        self.tools()?;
        self.thinking()?;
        self.choice()?;
        self.sampling()?;
        self.effort()?;
        self.edits()?;
        self.places()
    }

    /// Whether the model may think.
    pub(super) fn thinks(&self) -> bool {
        match self.thinking_type() {
            Some(kind) => kind != "disabled",
            None => self.model.is_some_and(|model| model.thinks),
        }
    }

    fn field(&self, name: &str) -> &Value {
        self.fields.get(name).unwrap_or(&Value::Null)
    }

    fn list(&self, name: &str) -> &[Value] {
        self.field(name).as_array().map_or(&[], Vec::as_slice)
    }

    fn thinking_type(&self) -> Option<&str> {
        self.field("thinking")["type"].as_str()
    }

    /// `output_config.effort`
    fn level(&self) -> Option<&str> {
        self.field("output_config")["effort"].as_str()
    }

    fn length(&self) -> Checked {
        let Some(model) = self.model.filter(|_| self.purpose == Purpose::Message) else { return Ok(()) };
        let is_longer = model.longer_with.as_deref().is_some_and(|beta| self.head.has(beta));
        let most = if is_longer { Some(128_000) } else { model.max_tokens };
        let asked = whole(self.field("max_tokens"));
        let Some(most) = most.filter(|most| asked > *most) else { return Ok(()) };
        let model = self.field("model").as_str().unwrap_or_default();
        Err(Fault::MaxTokens.error(&[
            ("value", &asked.to_string()),
            ("most", &most.to_string()),
            ("model", model),
        ]))
    }

    fn stops(&self) -> Checked {
        let is_blank = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
        refuse_if(self.list("stop_sequences").iter().any(is_blank), Fault::BlankStop, "")
    }

    fn tools(&self) -> Checked {
        let tools = self.list("tools");
        for (i, tool) in tools.iter().enumerate() {
            let schema = &tool["input_schema"];
            let path = format!("tools.{i}.custom.input_schema");
            let keys = schema["properties"].as_object().into_iter().flat_map(Map::keys);
            if keys.into_iter().any(|key| !is_key(key)) {
                return Err(Fault::PropertyKeys.at(&path));
            }
            if ["oneOf", "allOf", "anyOf"].iter().any(|name| !schema[name].is_null()) {
                return Err(Fault::CombinedSchema.at(&path));
            }
        }
        let mut names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        names.sort_unstable();
        refuse_if(names.windows(2).any(|pair| pair[0] == pair[1]), Fault::ToolTwice, "")
    }

    fn choice(&self) -> Checked {
        let choice = self.field("tool_choice");
        let Some(kind) = choice["type"].as_str() else { return Ok(()) };
        let tools = self.list("tools");
        if tools.is_empty() {
            return Err(Fault::ChoiceWithoutTools.error(&[]));
        }
        if !matches!(kind, "any" | "tool") {
            return Ok(());
        }
        match (self.model.map(|model| model.forced), self.thinking_type()) {
            (Some(Forced::Never), _) => return Err(Fault::NoForcedTools.error(&[])),
            (Some(Forced::UnlessThinking), Some("adaptive")) | (_, Some("enabled")) => {
                return Err(Fault::ForcedWhileThinking.error(&[]));
            }
            _ => {}
        }
        let name = choice["name"].as_str().unwrap_or_default();
        // A set of tools does not say how they are called.
        let is_there = |tool: &Value| tool["name"].as_str().is_none_or(|known| known == name);
        refuse_if(kind == "tool" && !tools.iter().any(is_there), Fault::NoSuchTool, name)
    }

    fn thinking(&self) -> Checked {
        let Some(kind) = self.thinking_type() else { return Ok(()) };
        if let Some(model) = self.model {
            let takes = |kind: &str| model.thinking.iter().any(|known| **known == *kind);
            let fault = match kind {
                kind if takes(kind) => None,
                "enabled" if !takes("adaptive") => Some(Fault::ThinksNot),
                "enabled" => Some(Fault::NoBudget),
                "adaptive" => Some(Fault::NoAdaptive),
                "between_tools" => Some(Fault::NoBetweenTools),
                _ if takes("between_tools") => Some(Fault::NoDisabledButBetweenTools),
                _ if takes("enabled") => Some(Fault::NoDisabledButBudget),
                _ => Some(Fault::NoDisabled),
            };
            if let Some(fault) = fault {
                let name = self.field("model").as_str().unwrap_or_default();
                return Err(fault.error(&[("model", name)]));
            }
        }
        let is_updates = self.field("thinking")["display"] == "updates";
        if is_updates && !self.head.has("thinking-display-updates-2026-08-18") {
            return Err(Fault::DisplayUpdates.at(&format!("thinking.{kind}")));
        }
        let budget = whole(&self.field("thinking")["budget_tokens"]);
        let may_exceed = self.purpose == Purpose::Count || self.head.has("interleaved-thinking-2025-05-14");
        let is_over = kind == "enabled" && !may_exceed && budget >= whole(self.field("max_tokens"));
        refuse_if(is_over, Fault::BudgetOverMax, "")
    }

    fn sampling(&self) -> Checked {
        let number = |name: &str| self.field(name).as_f64();
        let (temperature, top_p, top_k) = (number("temperature"), number("top_p"), number("top_k"));
        let is_other = temperature.is_some_and(|it| (it - 1.0).abs() > f64::EPSILON);
        let deprecated = |name: &str| Err(Fault::Deprecated.error(&[("value", name)]));
        match self.model.map(|model| model.sampling) {
            Some(Sampling::None) if is_other => return deprecated("temperature"),
            Some(Sampling::None) if top_p.is_some_and(|it| it < 0.99) => return deprecated("top_p"),
            Some(Sampling::None) if top_k.is_some() => return deprecated("top_k"),
            Some(Sampling::One) if temperature.is_some() && top_p.is_some() => {
                return Err(Fault::TemperatureAndTopP.error(&[]));
            }
            _ => {}
        }
        match self.thinking_type() {
            Some("enabled" | "adaptive") if is_other => Err(Fault::TemperatureThinking.error(&[])),
            Some("enabled" | "adaptive") if top_p.is_some_and(|it| it < 0.95) => {
                Err(Fault::TopPThinking.error(&[]))
            }
            Some("enabled" | "adaptive") if top_k.is_some() => Err(Fault::TopKThinking.error(&[])),
            _ => Ok(()),
        }
    }

    fn effort(&self) -> Checked {
        let (Some(level), Some(model)) = (self.level(), self.model) else { return Ok(()) };
        if model.efforts.is_empty() {
            return Err(Fault::NoEffort.error(&[]));
        }
        if !model.efforts.iter().any(|known| **known == *level) {
            return Err(Fault::NoSuchEffort.error(&[("value", level)]));
        }
        let is_bounded = match self.thinking_type() {
            Some("between_tools") => true,
            Some("disabled") => model.disabled_up_to_high,
            _ => false,
        };
        refuse_if(is_bounded && matches!(level, "xhigh" | "max"), Fault::EffortWhileDisabled, level)
    }

    fn edits(&self) -> Checked {
        let management = self.field("context_management");
        if !management.is_null() && !self.field("compaction").is_null() {
            return Err(Fault::CompactionAndEdits.error(&[]));
        }
        let edits = management["edits"].as_array().map_or(&[][..], Vec::as_slice);
        let at = edits.iter().position(|edit| edit["type"] == "clear_thinking_20251015");
        match at {
            Some(1..) => Err(Fault::ClearThinkingFirst.error(&[])),
            Some(0) if !self.thinks() => Err(Fault::ClearThinkingOff.error(&[])),
            _ => Ok(()),
        }
    }

    /// What the newest version of the API does not take in messages any more; rules that are older, `context` has.
    fn places(&self) -> Checked {
        if !self.head.is_newest() {
            return Ok(());
        }
        for (i, message) in self.list("messages").iter().enumerate() {
            let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
            for (j, block) in blocks.iter().enumerate() {
                let fault = match message["role"].as_str() {
                    Some("assistant") if block["type"] == "document" => Fault::AssistantDocument,
                    Some("user") if cites(block) => Fault::UserCitations,
                    _ => continue,
                };
                return Err(fault.error(&[("i", &i.to_string()), ("j", &j.to_string())]));
            }
        }
        Ok(())
    }
}

/// Refuses what is wrong; `value`: what it is about.
fn refuse_if(is_wrong: bool, fault: Fault, value: &str) -> Checked {
    if is_wrong { Err(fault.error(&[("value", value)])) } else { Ok(()) }
}

/// Whether it is a text with citations, or a search result with one in it.
fn cites(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("text") => block["citations"].as_array().is_some_and(|list| !list.is_empty()),
        Some("search_result") => block["content"].as_array().is_some_and(|parts| parts.iter().any(cites)),
        _ => false,
    }
}

/// Whether a property of a tool's input may have that name.
fn is_key(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

/// A number without a fraction; one that is no such number is 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is out of range is cut")]
pub(super) fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_f64().unwrap_or_default() as u64)
}
