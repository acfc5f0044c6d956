"""The conformance kit: what a plugin must hold to, asked of it by `bench conform` or from its own tests.

from benchmark.conformance import check_initializer, check_task

def test_conforms():
    check_initializer("tied_qk")
"""

from benchmark.conformance.report import NonconformingError, Report
from benchmark.conformance.run import check_initializer, check_task

__all__ = ["NonconformingError", "Report", "check_initializer", "check_task"]
