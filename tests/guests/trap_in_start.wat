;; Traps in its start function, before _start is ever called.
(module
  (memory (export "memory") 1)
  (func $begin unreachable)
  (start $begin)
  (func (export "_start")))
