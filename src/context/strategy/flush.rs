//! Before messages go, the model is told, so that it can write down what it wants to keep.

/// What it is told.
pub(in crate::context) const NOTICE: &str = "[CONTEXT NOTICE]\nThe oldest part of this conversation is about to be \
    left out. Write down now, with the memory tool, what you will need from it and have not written down yet: decisions and \
    their reasons, what was done and where, what failed, what is still to do. Then go on with the task.";
