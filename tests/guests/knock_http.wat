;; Imports what this wasp has not yet, beside what it has.
(module
  (import "wasp" "http_fetch" (func (param i32 i32) (result i32)))
  (import "wasp" "fs_read" (func (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")))
