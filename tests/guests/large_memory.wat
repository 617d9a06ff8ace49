;; Asks for 128 MiB from the start.
(module
  (memory (export "memory") 2048)
  (func (export "_start")))
