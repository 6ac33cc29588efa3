"""Compiles the project's modules, tests left out. Runs in the subject: Python 3.8+.

No code of the project runs: what is written here is what all rows start from.
"""

import compileall
import os
import re


def main(spec):
    """Compile the packages and modules that the specification names."""
    for path in spec["paths"]:
        tests = re.compile(re.escape(path) + "/(.*/)?tests?/")
        compileall.compile_dir(path, quiet=2, rx=tests)
        compileall.compile_file(path + ".py", quiet=2)
    os._exit(0)
