"""The audit log's share of a run, and how fast it is verified. A part of tests/bench/run."""

import os


def measure_audit(bench, place):
    """In C, without the command around it: a run opens the log, writes two records and closes it."""
    bench.call(bench.ROOT / "scripts/build.sh", "gcc", "tests/audit_bench")
    records = place.rounds(1_000_000, 100_000)
    with bench.data_folder(records * 700) as folder:
        state = os.path.join(folder, "state")
        os.mkdir(state, 0o700)
        out = bench.call(bench.BUILD / "tests/audit_bench", state, place.rounds(2000, 300), records)
    true, run, append, verify, verify_cpu = map(int, out.split())
    yield bench.Figure("audit log opened, two records, closed / fork+exec of true", run / true,
                       subject_ns=run, rival_ns=true)
    yield bench.Figure("  the same", run / 1000, "µs", 100)
    yield bench.Figure("audit record to an open log / fork+exec of true", append / true,
                       subject_ns=append, rival_ns=true)
    yield bench.Figure("  the same", append / 1000, "µs", 100)
    # 200,000 records a second
    yield bench.Figure(f"audit verify, one record of {records:,}", verify, "ns", 5000, cpu=verify_cpu)


GROUPS = {"audit": measure_audit}
