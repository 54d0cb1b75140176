#!/usr/bin/env python3
"""Runs PyTorch's own tests of process groups over the backend "lacuna".

They are in the installed wheel: the class of tests that PyTorch's test_distributed_spawn runs for each of its
backends. Many of them are only for a backend of a certain name. --like gloo chooses those that PyTorch has for Gloo;
they run over lacuna all the same. Tests that do not apply are listed in own_tests_skipped.py, each with its reason.
PyTorch skips others itself, for instance where there is no GPU. The exit status is 1 if a test has failed, or if a test
of the list does not exist.

    own_tests.py [--like gloo] [--shard 1/2] [PATTERN ...]
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import os
import sys
import tempfile
import time
import unittest
from datetime import timedelta

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("patterns", nargs="*", help="names of tests, with * and ?; default: all")
parser.add_argument("--like", default="lacuna", help="runs the tests that PyTorch has for this backend")
parser.add_argument("--ranks", default="3", help="default: 3, as in PyTorch's own runs")
parser.add_argument("--shard", default="1/1", help="I/N runs every N-th test, from the I-th on")
options = parser.parse_args()
# The module of the tests reads them when it is imported.
os.environ.update(BACKEND=options.like, WORLD_SIZE=options.ranks, TEMP_DIR=tempfile.mkdtemp(prefix="lacuna-tests-"))

import torch
from own_tests_skipped import SKIPPED, SKIPPED_LIKE_OTHERS
from torch.testing._internal import common_distributed

import lacuna.torch

for feature in ("subgroup", "ddp", "plugin"):
    common_distributed.DistTestCases.backend_feature[feature].add("lacuna")

from torch.testing._internal.distributed import distributed_test

init_process_group = torch.distributed.init_process_group


def init_over_lacuna(*arguments, backend: str, **others) -> None:
    """Some tests look at the name of their backend while they run. Whatever they ask for, they get lacuna."""
    init_process_group(*arguments, backend="lacuna", **others)


torch.distributed.init_process_group = init_over_lacuna

new_group = torch.distributed.new_group


def new_group_in_time(*arguments, timeout: timedelta | None = None, **others) -> torch.distributed.ProcessGroup:
    """Tests of timeouts give groups 1 s. A busy machine may need that to make the group, so they get more, and then
    test that timeout.
    """
    return new_group(*arguments, timeout=timeout and max(timeout, timedelta(seconds=5)), **others)


torch.distributed.new_group = new_group_in_time

skipped = SKIPPED if options.like == "lacuna" else {**SKIPPED, **SKIPPED_LIKE_OTHERS}


class OwnTests(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    """What test_distributed_spawn makes of the two classes, with ranks that are forked, which is quicker."""

    def setUp(self) -> None:
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


class Result(unittest.TextTestResult):
    """Prints a line for each test, and keeps why tests were skipped."""

    def __init__(self, stream, descriptions, verbosity) -> None:
        super().__init__(stream, descriptions, verbosity)
        self.passed = 0
        self.begin = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        self.begin = time.monotonic()
        unittest.TestResult.startTest(self, test)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.passed += 1
        self.tell(test, "ok")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        unittest.TestResult.addSkip(self, test, reason)

    def addFailure(self, test: unittest.TestCase, error) -> None:
        unittest.TestResult.addFailure(self, test, error)
        self.tell(test, "FAILED")

    def addError(self, test: unittest.TestCase, error) -> None:
        unittest.TestResult.addError(self, test, error)
        self.tell(test, "FAILED")

    def tell(self, test: unittest.TestCase, outcome: str) -> None:
        name = test.id().rpartition(".")[2]
        print(f"{name:<60} {outcome:<7} {time.monotonic() - self.begin:6.1f} s", flush=True)


def names_of(patterns: list[str]) -> list[str]:
    """The tests to run, in their order."""
    names = unittest.TestLoader().getTestCaseNames(OwnTests)
    chosen = [name for name in names if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    unknown = [pattern for pattern in skipped if not fnmatch.filter(names, pattern)]
    if unknown:
        sys.exit(f"own_tests_skipped.py names tests that PyTorch {torch.__version__} does not have: {unknown}")
    return [name for name in chosen if not any(fnmatch.fnmatch(name, pattern) for pattern in skipped)]


def main() -> int:
    shard, shards = map(int, options.shard.split("/"))
    names = names_of(options.patterns)[shard - 1::shards]
    suite = unittest.TestSuite(OwnTests(name) for name in names)
    result = unittest.TextTestRunner(resultclass=Result, verbosity=0).run(suite)
    print(f"\n{result.passed} tests of PyTorch {torch.__version__} have passed on {os.environ['WORLD_SIZE']} ranks, "
          f"{len(result.failures) + len(result.errors)} have failed")
    reasons = collections.Counter(reason for _, reason in result.skipped)
    for reason, count in reasons.most_common():
        print(f"{count:4d} skipped by PyTorch: {reason}")
    for pattern, reason in skipped.items():
        print(f"     skipped here: {pattern}: {reason}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
