//! The built command as a process.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// What a finished process left.
#[derive(Debug)]
pub struct Done {
    /// The exit code; `None` for a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The command, started in `dir`, with none of this process's own settings.
pub fn memdir<const N: usize>(dir: &Path, args: [&str; N]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memdir"));
    clean(command.args(args), dir);
    command
}

/// A line for the shell, in which `$MEMDIR` is the command.
pub fn shell(dir: &Path, line: &str) -> Done {
    let mut command = Command::new("sh");
    clean(command.args(["-c", line]).env("MEMDIR", env!("CARGO_BIN_EXE_memdir")), dir);
    command.output().unwrap().into()
}

/// Runs a command to its end, with `input` as its standard input.
pub fn feed(command: &mut Command, input: impl AsRef<[u8]> + Send) -> Done {
    let mut child = start(command);
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A command that has ended early does not read the rest.
        scope.spawn(move || _ = stdin.write_all(input.as_ref()));
        child.wait_with_output().unwrap().into()
    })
}

/// Starts a command with pipes for all that it reads and writes.
pub fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn clean(command: &mut Command, dir: &Path) {
    command.current_dir(dir).env_remove("MEMDIR_DIR").env_remove("MEMDIR_ACTOR");
}
