#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
pyverbs-tests.py - run rdma-core's own tests, and compare what they skip with a list.

    pyverbs-tests.py DIRECTORY SKIPS DEVICE [NAME...]

DIRECTORY holds "tests" of rdma-core, as Debian's python3-pyverbs ships it. SKIPS is
tests/vm/pyverbs-skips; the environment variable LACKS has the tags of the lines in it
that are about this kernel. NAMEs are modules, classes or tests (all). Prints a line for
each test, "ok ID", "skip ID: what it says" or "not ok ID: why", then complaints, then
a line of counts. Exit status 0 if nothing failed and each skip is in the list, and
each test in the list that ran skipped; and of all tests there were some that passed.
"""
import fnmatch
import os
import re
import sys
import time
import unittest


# Of the tests of rdma-core 33, the oldest that are run, more pass on every kernel
LEAST = 80


class Result(unittest.TestResult):
    """Writes a line when a test has ended."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows
        self.passed, self.skips, self.failed = [], {}, []
        self.began = 0

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def line(self, word, test, text=''):
        took = time.monotonic() - self.began
        print(f'{word} {test.id()}{text} ({took:.1f} s)', flush=True)

    def addSuccess(self, test):
        self.passed.append(test.id())
        self.line('ok', test)

    def addSkip(self, test, reason):
        self.skips[test.id()] = reason
        self.line('skip', test, f': {reason}')

    def addFailure(self, test, err):
        for name, says, why in self.rows:
            if says == 'fails' and name == test.id():
                self.addSkip(test, f'fails: {why}')
                return
        self.failed.append(test.id())
        self.line('not ok', test, f': {self._exc_info_to_string(err, test)}')

    addError = addFailure


def skip_list(path, lacks):
    """The lines of the list: pattern of the test's ID, pattern of what it says, why."""
    rows = []
    with open(path, encoding='utf-8') as text:
        for number, line in enumerate(text, 1):
            if not line.strip() or line.startswith('#'):
                continue
            fields = [field.strip() for field in line.split('|')]
            if len(fields) != 3 or not all(fields):
                sys.exit(f'{path}:{number}: not "TEST | WHAT IT SAYS | WHY"')
            tag = re.match(r'\[(\S+)\]\s+(.*)', fields[0])
            if tag:
                if tag[1] not in lacks:
                    continue
                fields[0] = tag[2]
            rows.append(fields)
    return rows


def complaints(result, rows):
    """What the list does not foresee, and what it foresees wrongly."""
    for name, reason in result.skips.items():
        if not any(fnmatch.fnmatchcase(name, test) and re.search(says, reason)
                   for test, says, _ in rows):
            yield f'not ok {name}: skips, and is not in the list: {reason}'
    for name in result.passed:
        for test, _, why in rows:
            if test == name:
                yield f'not ok {name}: passes; take it off the list ({why})'


def main():
    directory, skips, device, *names = sys.argv[1:]
    sys.path[:0] = [directory, f'{directory}/tests']
    # It looks for its options where programs do
    sys.argv[1:] = ['--dev', device]
    from args_parser import parser
    parser.parse_args()
    import tests

    loader = unittest.TestLoader()
    suite = (loader.loadTestsFromNames([f'tests.{name}' for name in names]) if names
             else loader.loadTestsFromModule(tests))
    rows = skip_list(skips, os.environ.get('LACKS', '').split())
    result = Result(rows)
    suite.run(result)
    found = list(complaints(result, rows))
    if not names and len(result.passed) < LEAST:
        found.append(f'not ok only {len(result.passed)} tests passed, of {LEAST} and more')
    for line in found:
        print(line)
    print(f'{result.testsRun} tests: {len(result.passed)} ok, '
          f'{len(result.skips)} skipped, {len(result.failed)} failed, '
          f'{len(found)} complaints about skips')
    sys.exit(bool(result.failed or found))


main()
