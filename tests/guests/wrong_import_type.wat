;; Knows the name of a WASI function but not its type.
(module
  (import "wasi_snapshot_preview1" "fd_close" (func (param i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "_start")))
