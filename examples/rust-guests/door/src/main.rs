//! Asks wasp for what WASI has not: reads a file and writes another by their paths on the host, and
//! runs a program. What it is not given is answered, too. Each line it prints is one answer.
//!
//!     wasp run door.wasm --allow-dir ./workspace --capability fs_read --capability fs_write \
//!         --capability exec_run --command 'uname -s' -- $PWD/workspace/input.txt $PWD/workspace/output.txt
//!
//! The convention is in guest/include/wasp_guest.h. A real guest would use a crate for JSON.

use std::process::ExitCode;

#[link(wasm_import_module = "wasp")]
extern "C" {
    fn fs_read(request: *const u8, len: usize) -> i32;
    fn fs_write(request: *const u8, len: usize) -> i32;
    fn exec_run(request: *const u8, len: usize) -> i32;
    fn answer(to: *mut u8, cap: usize) -> i32;
}

type Function = unsafe extern "C" fn(*const u8, usize) -> i32;

/// One call: JSON in, JSON out, or the number of what went wrong on the way.
fn call(function: Function, request: &str) -> Result<String, i32> {
    let len = unsafe { function(request.as_ptr(), request.len()) };
    if len < 0 {
        return Err(len);
    }
    let mut bytes = vec![0; len as usize];
    let copied = unsafe { answer(bytes.as_mut_ptr(), bytes.len()) };
    if copied < 0 {
        return Err(copied);
    }
    bytes.truncate(copied as usize);
    String::from_utf8(bytes).map_err(|_| 0)
}

/// Text as a JSON string.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            c if (c as u32) < 0x20 => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Prints the answer; false if it says why not.
fn show(what: &str, answer: Result<String, i32>) -> bool {
    let (is_done, text) = match answer {
        Ok(text) => (!text.starts_with("{\"error\":"), text),
        Err(number) => (false, format!("no answer ({number})")),
    };
    let verdict = if is_done { "done" } else { "refused" };
    println!("{what} {verdict}: {}", text.trim_end());
    is_done
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.len() != 3 {
        eprintln!("usage: door.wasm FROM TO");
        return ExitCode::from(2);
    }
    let read = format!("{{\"path\":{},\"max_bytes\":1000}}", quote(&args[1]));
    let write = format!(
        "{{\"path\":{},\"data\":\"written through the door\\n\"}}",
        quote(&args[2])
    );
    let answers = [
        show("fs_read", call(fs_read, &read)),
        show("fs_write", call(fs_write, &write)),
        show("exec_run", call(exec_run, "{\"argv\":[\"uname\",\"-s\"]}")),
    ];
    if answers.iter().all(|is_done| *is_done) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
