"""Compiles the project's modules, tests left out. Runs in the subject: Python 3.8+.

No code of the project runs: what is written here is what all rows start from.
"""

import compileall
import os
import re


def compile_modules(paths):
    """Compile the packages and modules at `paths`, where that is not done yet."""
    for path in paths:
        tests = re.compile(re.escape(path) + "/(.*/)?tests?/")
        compileall.compile_dir(path, quiet=2, rx=tests)
        compileall.compile_file(path + ".py", quiet=2)


def main(spec, wire):
    """Compile what the specification names."""
    compile_modules(spec["paths"])
    os._exit(0)
