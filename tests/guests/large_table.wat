;; Asks for a table of 2^20 entries from the start.
(module
  (memory (export "memory") 1)
  (table 1048576 funcref)
  (func (export "_start")))
