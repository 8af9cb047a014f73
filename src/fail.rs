//! Points at which a test can stop a change as a crash would. Outside of unit tests there is nothing here.

/// Ends everything, as far as memory files are concerned, when the test has asked for the crash to be here.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    armed::step();
}

#[cfg(test)]
pub(crate) use armed::{crash_after, is_crashed, survive};

#[cfg(test)]
mod armed {
    use std::cell::Cell;

    thread_local! {
        /// Steps left before the crash; `None`: none is planned.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
        static CRASHED: Cell<bool> = const { Cell::new(false) };
    }

    /// What the panic that stands for a crash carries.
    #[derive(Debug)]
    pub(crate) struct Crash;

    pub(super) fn step() {
        if is_crashed() {
            return;
        }
        match LEFT.get() {
            Some(0) => {
                CRASHED.set(true);
                std::panic::resume_unwind(Box::new(Crash));
            }
            Some(left) => LEFT.set(Some(left - 1)),
            None => {}
        }
    }

    /// Whether the planned crash has come: from then on nothing may be written, not even by destructors.
    pub(crate) fn is_crashed() -> bool {
        CRASHED.get()
    }

    /// Lets this thread crash at the step after the next `steps`.
    pub(crate) fn crash_after(steps: usize) {
        LEFT.set(Some(steps));
        CRASHED.set(false);
    }

    /// Ends the plan; `true` when the crash had not come.
    pub(crate) fn survive() -> bool {
        LEFT.set(None);
        !CRASHED.replace(false)
    }
}
