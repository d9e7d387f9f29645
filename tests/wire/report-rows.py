#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The rows that report.py has, one a line, where there is neither a device nor pyverbs.

scripts/check-code compares them with those of in-tree.md. The rows are made by loops, too,
so report.py itself is asked, with names in the place of the library: until a packet is to
be sent, nobody calls it.
"""

import importlib.abc
import importlib.machinery
import itertools
import sys
import types


class Names(types.ModuleType):
    """A module that has whatever it is asked for: numbers if it is enums, or else classes."""

    numbers = itertools.count(1)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        is_number = self.__name__.endswith(".enums")
        value = next(self.numbers) if is_number else type(name, (), {})
        setattr(self, name, value)
        return value


class Library(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """pyverbs, and all below it."""

    def find_spec(self, fullname, _path, _target=None):
        """It is here, in front of the real one."""
        if fullname.split(".")[0] == "pyverbs":
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        """Nothing but names."""
        return Names(spec.name)

    def exec_module(self, _module):
        """There is no code."""


def main():
    """Print them."""
    sys.meta_path.insert(0, Library())
    import report  # pylint: disable=import-outside-toplevel # not before the library is there
    for row in report.errors.ROWS + report.EXTRA:
        print(row.text)


if __name__ == "__main__":
    main()
