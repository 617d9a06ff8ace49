;; Hello through the first published WASI, import module "wasi_unstable".
(module
  (import "wasi_unstable" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\0f\00\00\00")
  (data (i32.const 16) "hello, old wasi")
  (func (export "_start")
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
