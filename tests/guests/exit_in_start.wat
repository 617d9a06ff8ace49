;; Exits with 5 in its start function; _start would trap.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func $begin (call $exit (i32.const 5)))
  (start $begin)
  (func (export "_start") unreachable))
