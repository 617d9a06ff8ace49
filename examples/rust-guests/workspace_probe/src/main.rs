//! Prints the workspace's `input.txt`, as `wasp sample run workspace-probe` does.
//!
//!     wasp run workspace_probe.wasm --allow-dir ./workspace

use std::process::ExitCode;
use std::{fs, io};

const INPUT: &str = "input.txt";

/// Bytes, not text: what is in the file is the owner's affair.
fn print_file(path: &str) -> io::Result<()> {
    let mut file = fs::File::open(path)?;
    io::copy(&mut file, &mut io::stdout().lock())?;
    Ok(())
}

fn main() -> ExitCode {
    match print_file(INPUT) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("workspace_probe: cannot print {INPUT}: {error}");
            ExitCode::FAILURE
        }
    }
}
