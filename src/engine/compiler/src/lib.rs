//! Wasmtime's C API with Cranelift on all cores, and the one thing that wasp-compile needs and the C
//! API lacks: compiling to bytes without making them executable, so that its cell never has to map
//! an executable page.

use std::mem::size_of;

use wasmtime_c_api::wasmtime::Engine;
pub use wasmtime_c_api::*;

// A struct as large as its only field holds it at offset zero: what makes the cast below sound.
const _: () = assert!(size_of::<wasm_engine_t>() == size_of::<Engine>());

/// Compiles a module; the bytes live until the process ends. See engine.h.
///
/// # Safety
/// `wasm` points to `len` readable bytes that do not change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasp_engine_compile(
    engine: &wasm_engine_t,
    wasm: *const u8,
    len: usize,
    ret_code: &mut *const u8,
    ret_len: &mut usize,
) -> Option<Box<wasmtime_error_t>> {
    let engine: &Engine = unsafe { &*(&raw const *engine).cast() };
    let wasm = unsafe { std::slice::from_raw_parts(wasm, len) };
    match engine.precompile_module(wasm) {
        Ok(code) => {
            let code = code.leak();
            *ret_code = code.as_ptr();
            *ret_len = code.len();
            None
        }
        Err(error) => Some(Box::new(error.into())),
    }
}
