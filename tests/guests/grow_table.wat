;; Makes its table larger, 65536 entries at a time, until that is refused (exit 7) or it has 2^20
;; of them (exit 0).
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (table $t 1 funcref)
  (func (export "_start")
    (loop $again
      (if (i32.eq (table.grow $t (ref.null func) (i32.const 65536)) (i32.const -1))
        (then (call $exit (i32.const 7))))
      (br_if $again (i32.lt_u (table.size $t) (i32.const 1048576))))))
