//! Writes `agent-note.txt` into the workspace and prints `written`, as
//! `wasp sample run workspace-write` does.
//!
//!     wasp run workspace_write.wasm --allow-dir ./workspace

use std::fs;
use std::process::ExitCode;

const NOTE: &str = "agent-note.txt";

fn main() -> ExitCode {
    match fs::write(NOTE, "written by a guest\n") {
        Ok(()) => {
            println!("written");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("workspace_write: cannot write {NOTE}: {error}");
            ExitCode::FAILURE
        }
    }
}
