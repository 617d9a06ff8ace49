;; Calls through an empty slot of its table.
(module
  (memory (export "memory") 1)
  (table 1 funcref)
  (func (export "_start")
    (call_indirect (i32.const 0))))
