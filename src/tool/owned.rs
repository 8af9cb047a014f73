//! The tools that a dispatcher answers, by name.

/// A tool that is answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    /// The files: view, create, `str_replace`, insert, delete, rename.
    Memory,
    /// A new entry.
    #[cfg(feature = "search")]
    Store,
    /// What answers a question.
    #[cfg(feature = "search")]
    Retrieve,
    /// The end of an entry.
    #[cfg(feature = "search")]
    Delete,
    /// One file: save, clear. It is a tool of a host's own that is *named* as Anthropic's memory tool is *typed*.
    #[cfg(feature = "search")]
    OneFile,
}

impl Tool {
    pub(super) const ALL: &[Self] = &[
        Self::Memory,
        #[cfg(feature = "search")]
        Self::Store,
        #[cfg(feature = "search")]
        Self::Retrieve,
        #[cfg(feature = "search")]
        Self::Delete,
        #[cfg(feature = "search")]
        Self::OneFile,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            #[cfg(feature = "search")]
            Self::Store => "memory_store",
            #[cfg(feature = "search")]
            Self::Retrieve => "memory_retrieve",
            #[cfg(feature = "search")]
            Self::Delete => "memory_delete",
            #[cfg(feature = "search")]
            Self::OneFile => "memory_20250818",
        }
    }

    /// A name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Memory => "Memory files",
            #[cfg(feature = "search")]
            Self::Store => "Store a memory",
            #[cfg(feature = "search")]
            Self::Retrieve => "Find memories",
            #[cfg(feature = "search")]
            Self::Delete => "Delete a memory",
            #[cfg(feature = "search")]
            Self::OneFile => "Memory file",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    /// The tool that a bare input is for, told by its fields.
    pub(super) fn of_input(input: &serde_json::Map<String, serde_json::Value>) -> Self {
        if input.contains_key("command") {
            return Self::Memory;
        }
        #[cfg(feature = "search")]
        for (field, tool) in [
            ("action", Self::OneFile),
            ("memory_id", Self::Delete),
            ("query", Self::Retrieve),
            ("content", Self::Store),
            ("category", Self::Store),
        ] {
            if input.contains_key(field) {
                return tool;
            }
        }
        Self::Memory
    }

    /// Whether its errors are `{"error": "…"}`; those of the memory tool are plain text.
    pub(super) fn speaks_json(self) -> bool {
        self != Self::Memory
    }

    /// All names, for whoever called another one.
    pub(super) fn all_names() -> String {
        Self::ALL.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(all(test, feature = "search"))]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bare_input_is_told_by_its_fields() {
        for (input, tool) in [
            (json!({}), "memory"),
            (json!({"command": "view", "content": "x", "query": "y"}), "memory"),
            (json!({"path": "/memories"}), "memory"),
            (json!({"action": "save", "content": "x"}), "memory_20250818"),
            (json!({"content": "x", "category": "y", "importance": 3}), "memory_store"),
            (json!({"content": "x"}), "memory_store"),
            (json!({"query": ""}), "memory_retrieve"),
            (json!({"query": "x", "categories": [], "limit": 3}), "memory_retrieve"),
            (json!({"memory_id": "x", "reason": "y"}), "memory_delete"),
        ] {
            assert_eq!(Tool::of_input(input.as_object().unwrap()).name(), tool, "{input}");
        }
    }

    #[test]
    fn a_tool_is_found_by_its_name() {
        for &tool in Tool::ALL {
            assert_eq!(Tool::named(tool.name()), Some(tool));
        }
        assert_eq!(Tool::named("memory_20250819"), None);
    }
}
