//! Wasmtime's C API without a compiler, and the three things a runner needs that the C API lacks:
//! loading a module from a descriptor (the cell's root is empty: there is no path to give), a limiter
//! that counts what it refused (so that the envelope can say it), and a large stack.

use std::fs::File;
use std::mem::size_of;
use std::os::fd::FromRawFd;

use wasmtime_c_api::wasmtime::{Config, Engine, Error, Module, ResourceLimiter, Result, Store};
pub use wasmtime_c_api::*;

// Each C type is a struct with one field. A struct as large as its only field holds it at offset
// zero, so these two lines are what makes the casts below sound.
const _: () = assert!(size_of::<wasmtime_module_t>() == size_of::<Module>());
const _: () = assert!(size_of::<wasmtime_store_t>() == size_of::<Store<WasmtimeStoreData>>());
const _: () = assert!(size_of::<wasm_engine_t>() == size_of::<Engine>());
const _: () = assert!(size_of::<wasm_config_t>() == size_of::<Config>());

/// Sets the guest's stack. Wasmtime wants it below the stack of its async calls, which wasp never
/// makes and the C API cannot set. See engine.h.
#[unsafe(no_mangle)]
pub extern "C" fn wasp_engine_stack(config: &mut wasm_config_t, bytes: usize) {
    let config: &mut Config = unsafe { &mut *(&raw mut *config).cast() };
    config.max_wasm_stack(bytes).async_stack_size(bytes);
}

/// Loads a precompiled module; takes the descriptor in every case. See engine.h.
///
/// # Safety
/// `fd` is open, owned by the caller, and holds what wasp-compile wrote, unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasp_engine_load(
    engine: &wasm_engine_t,
    fd: i32,
    ret: &mut *mut wasmtime_module_t,
) -> Option<Box<wasmtime_error_t>> {
    let engine: &Engine = unsafe { &*(&raw const *engine).cast() };
    let file = unsafe { File::from_raw_fd(fd) };
    match unsafe { Module::deserialize_open_file(engine, file) } {
        Ok(module) => {
            *ret = Box::into_raw(Box::new(module)).cast();
            None
        }
        Err(error) => Some(Box::new(error.into())),
    }
}

/// What a store may use at most, and how often it asked for more. Laid out as in engine.h.
#[repr(C)]
pub struct wasp_engine_limits {
    memory_bytes: u64,
    table_elements: u64,
    memory_peak_bytes: u64,
    memory_refused: u64,
    table_refused: u64,
}

impl ResourceLimiter for wasp_engine_limits {
    fn memory_growing(&mut self, _: usize, desired: usize, max: Option<usize>) -> Result<bool> {
        if max.is_some_and(|max| desired > max) {
            return Ok(false); // the module's own bound, not ours
        }
        if desired as u64 > self.memory_bytes {
            self.memory_refused += 1;
            return Ok(false);
        }
        self.memory_peak_bytes = self.memory_peak_bytes.max(desired as u64);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _: Error) -> Result<()> {
        self.memory_refused += 1;
        Ok(())
    }

    fn table_growing(&mut self, _: usize, desired: usize, max: Option<usize>) -> Result<bool> {
        if max.is_some_and(|max| desired > max) {
            return Ok(false);
        }
        let allowed = desired as u64 <= self.table_elements;
        self.table_refused += u64::from(!allowed);
        Ok(allowed)
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        16
    }

    fn memories(&self) -> usize {
        1
    }
}

struct Shared(*mut wasp_engine_limits);
// One thread runs the guest; nothing else holds the pointer while it does.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

impl Shared {
    fn limits<'a>(&self) -> &'a mut wasp_engine_limits {
        unsafe { &mut *self.0 }
    }
}

/// Puts `limits` in force for everything the store makes from here on. See engine.h.
///
/// # Safety
/// `limits` outlives the store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasp_engine_limit(
    store: *mut wasmtime_store_t,
    limits: *mut wasp_engine_limits,
) {
    let store: &mut Store<WasmtimeStoreData> = unsafe { &mut *store.cast() };
    let shared = Shared(limits);
    store.limiter(move |_| shared.limits());
}
