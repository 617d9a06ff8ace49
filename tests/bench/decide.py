"""What a decision costs. A part of tests/bench/run."""


def measure_decide(bench, place):
    """In C, without the command around it: ten needs judged by three policies of 1,000 rules."""
    bench.call(bench.ROOT / "scripts/build.sh", "gcc", "tests/decide_bench")
    decide = int(bench.call(bench.BUILD / "tests/decide_bench", place.rounds(500, 50)))
    yield bench.Figure("ten needs decided by three policies of 1,000 rules", decide / 1000, "µs", 1000)


GROUPS = {"decide": measure_decide}
