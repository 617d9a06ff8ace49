;; Ends in the instruction that must never be reached.
(module
  (memory (export "memory") 1)
  (func (export "_start") unreachable))
