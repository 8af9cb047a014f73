//! What is sent, atom by atom, and what is missing before each.

use std::ops::Range;

use crate::context::plan::Fate;
use crate::context::tokens::Mix;

/// An atom that is sent.
pub(super) struct Live {
    pub(super) atom: usize,
    pub(super) messages: Range<usize>,
    pub(super) mix: Mix,
    pub(super) gap: Gap,
}

/// What is missing right before an atom that is sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gap {
    /// Messages that were left out.
    pub(super) left_out: usize,
    /// Messages that a summary stands for.
    pub(super) summarised: usize,
    /// Whether the summary stands here.
    pub(super) has_summary: bool,
}

impl Live {
    pub(super) fn new(first: usize, atom: usize) -> Self {
        Self { atom, messages: first..first, mix: Mix::default(), gap: Gap::default() }
    }
}

impl Gap {
    pub(super) fn add(&mut self, other: Self) {
        self.left_out += other.left_out;
        self.summarised += other.summarised;
        self.has_summary |= other.has_summary;
    }

    /// So many messages more are missing.
    pub(super) fn take(&mut self, messages: usize, fate: Fate) {
        match fate {
            Fate::Summarised(_) => self.summarised += messages,
            _ => self.left_out += messages,
        }
    }

    /// The make-up of what stands there.
    pub(super) fn mix(self, summary: Option<&str>) -> Mix {
        self.text(summary).map_or(Mix::default(), |text| Mix::of_text(&text))
    }

    /// What stands there: the summary, or that something is missing. A gap is never empty: without it, messages of two
    /// turns would become one.
    pub(super) fn text(self, summary: Option<&str>) -> Option<String> {
        let summary = summary.filter(|_| self.has_summary);
        let missing = self.left_out + if summary.is_some() { 0 } else { self.summarised };
        let marker = match missing {
            0 => None,
            1 => Some("[… 1 message left out …]".to_owned()),
            n => Some(format!("[… {n} messages left out …]")),
        };
        match (summary, marker) {
            (Some(summary), Some(marker)) => Some(format!("{summary}\n\n{marker}")),
            (Some(summary), None) => Some(summary.to_owned()),
            (None, marker) => marker,
        }
    }
}
