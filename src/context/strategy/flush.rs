//! Before messages go, the model is told, so that it can write down what it wants to keep.

use super::super::message::Message;
use super::super::speech::text_of;

/// What it is told.
pub(in crate::context) const NOTICE: &str = "[CONTEXT NOTICE]\nThe oldest part of this conversation is about to be \
    left out. Write down now, with the memory tool, what you will need from it and have not written down yet: decisions and \
    their reasons, what was done and where, what failed, what is still to do. Then go on with the task.";

/// Whether a message is the notice: it is the user's, but no task of theirs.
pub(in crate::context) fn is_notice(message: &Message) -> bool {
    let [block] = message.blocks() else { return false };
    // Only what is about as long is looked at.
    (NOTICE.len()..NOTICE.len() + 64).contains(&block.span.len()) && text_of(message, block) == NOTICE
}
