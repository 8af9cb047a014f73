//! Points at which a test can stop a change as a crash would, or let a sync fail. Outside of unit tests there is nothing here.

/// Ends everything, as far as memory files are concerned, when the test has asked for the crash to be here.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    armed::step();
}

/// Whether the sync that is about to be made fails, since the test has asked for that.
#[inline]
pub(crate) fn breaks_sync() -> bool {
    #[cfg(test)]
    return armed::breaks_sync();
    #[cfg(not(test))]
    false
}

#[cfg(test)]
pub(crate) use armed::{
    break_next_sync, crash_after, die, interfere_after, is_crashed, kill_after, survive, was_left_alone,
};

#[cfg(test)]
mod armed {
    use std::cell::{Cell, RefCell};

    thread_local! {
        /// Steps left before the crash; `None`: none is planned.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
        static CRASHED: Cell<bool> = const { Cell::new(false) };
        /// Whether the crash takes the whole process.
        static KILLS: Cell<bool> = const { Cell::new(false) };
    }

    thread_local! {
        /// Whether the next sync of a directory fails.
        static BREAKS_SYNC: Cell<bool> = const { Cell::new(false) };
    }

    /// Lets the next sync of a directory fail, of this thread.
    pub(crate) fn break_next_sync() {
        BREAKS_SYNC.set(true);
    }

    pub(super) fn breaks_sync() -> bool {
        BREAKS_SYNC.take()
    }

    type Hook = (usize, Box<dyn FnOnce()>);

    thread_local! {
        /// What somebody else does meanwhile, and the steps left before it.
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// What the panic that stands for a crash carries.
    #[derive(Debug)]
    pub(crate) struct Crash;

    pub(super) fn step() {
        if is_crashed() {
            return;
        }
        let hook = HOOK.take();
        match hook {
            Some((0, interfere)) => interfere(),
            Some((left, interfere)) => HOOK.set(Some((left - 1, interfere))),
            None => {}
        }
        match LEFT.get() {
            Some(0) if KILLS.get() => std::process::abort(),
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

    /// Lets somebody else do something at the step after the next `steps`.
    pub(crate) fn interfere_after(steps: usize, interfere: impl FnOnce() + 'static) {
        HOOK.set(Some((steps, Box::new(interfere))));
    }

    /// Ends the plan of [`interfere_after`]; `true` when the step had not come.
    pub(crate) fn was_left_alone() -> bool {
        HOOK.take().is_some()
    }

    /// Lets the whole process be killed there.
    pub(crate) fn kill_after(steps: usize) {
        KILLS.set(true);
        crash_after(steps);
    }

    /// Crashes at once, between two changes: what is dropped from now on writes nothing.
    pub(crate) fn die() {
        CRASHED.set(true);
    }

    /// Ends the plan; `true` when the crash had not come.
    pub(crate) fn survive() -> bool {
        LEFT.set(None);
        !CRASHED.replace(false)
    }
}
