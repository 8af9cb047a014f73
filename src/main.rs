//! The `memdir` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    memdir::cli::main()
}
